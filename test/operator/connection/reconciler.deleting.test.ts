import { describe, expect, test } from "vitest";
import { conditionOf } from "../../../src/operator/objects/conditions-of.ts";
import { refusal } from "../../support/scripted-service.ts";
import { ours, secrets, setUp } from "./setting.ts";

const poolReference = (name: string) => ({
  apiVersion: "compute-operator.dev/v1alpha1",
  kind: "ComputePool",
  name,
  uid: `uid-of-${name}`,
});

describe("a deletion that waits", () => {
  const ready = ({ status }: ReturnType<typeof setUp>) => conditionOf(status() ?? {}, "Ready")?.message;

  test("a waiting deletion of a connection says who uses it and what to do, on the condition and once as an event", async () => {
    const world = setUp();
    world.use("db");
    world.use("cache");
    await world.reconcile();
    world.remove(`${ours}/serviceconnections/default`);
    await world.reconcile();
    const said =
      "Deletion waits until nothing uses this connection. Delete its users (cache, db), or name another connection in their spec.connectionRef.";
    expect(conditionOf(world.status() ?? {}, "Ready")).toMatchObject({
      status: "False",
      reason: "Deleting",
      message: said,
    });
    expect(world.reported).toEqual([`ServiceConnection default Deleting: ${said}`]);
    world.remove(`${ours}/computes/cache`);
    await world.reconcile();
    expect(ready(world)).toMatch(/uses this connection\. Delete its users \(db\), /);
    expect(world.reported).toHaveLength(1);
  });

  test("a waiting deletion of the Secret is reported too, on the Secret", async () => {
    const world = setUp();
    world.use();
    await world.reconcile();
    world.remove(`${secrets}/service`);
    await world.reconcile();
    const said =
      'Deletion of Secret "service" waits until nothing uses this connection. Name another Secret in spec.apiKeySecretRef, delete its users (db), or name another connection in their spec.connectionRef.';
    expect(ready(world)).toBe(`${said} The service accepts the API key.`);
    expect(world.reported).toEqual([`Secret service Deleting: ${said}`]);
    world.remove(`${ours}/computes/db`);
    world.use("cache");
    await world.reconcile();
    expect(ready(world)).toContain(
      "users (cache), or name another connection in their spec.connectionRef. The service accepts the API key.",
    );
    expect(world.reported).toHaveLength(1);
  });

  test("ends automatically if the Computes are being deleted too, without an event", async () => {
    const world = setUp();
    world.use("db", ["compute-operator.dev/endpoint"]);
    await world.reconcile();
    for (const path of [`${ours}/computes/db`, `${ours}/serviceconnections/default`]) world.remove(path);
    await world.reconcile();
    expect(ready(world)).toMatch(/^Deletion waits for the objects .*: they are being deleted, and need it for that\.$/);
    expect(world.reported).toEqual([]);
  });

  test("names a pool in place of its members, for only there another connection can be named", async () => {
    const world = setUp();
    world.use("db");
    for (const name of ["readers-0", "readers-1"]) world.use(name, [], [poolReference("readers")]);
    await world.reconcile();
    world.remove(`${ours}/serviceconnections/default`);
    await world.reconcile();
    expect(ready(world)).toBe(
      "Deletion waits until nothing uses this connection. Delete its users (ComputePool readers, db), or name another connection in their spec.connectionRef (of a ComputePool: spec.template.connectionRef).",
    );
  });

  test("says first what else is wrong: the names of its users may bury it", async () => {
    const world = setUp();
    world.use();
    await world.reconcile();
    world.service.script = () => refusal(401, "revoked");
    world.remove(`${ours}/serviceconnections/default`);
    await world.cluster.clock.advance(700_000);
    await world.reconcile();
    await world.cluster.clock.advance(5000);
    await world.reconcile();
    expect(ready(world)).toMatch(/^The service refused the API key: revoked\..* Deletion waits until .* \(db\), /);
  });

  test("names as many of its users as there is room for", async () => {
    const world = setUp();
    for (let n = 0; n < 40; n += 1) world.use(`compute-${"x".repeat(100)}-${n}`);
    await world.reconcile();
    world.remove(`${ours}/serviceconnections/default`);
    await world.reconcile();
    expect(ready(world)).toMatch(/\(compute-x+-0, compute-x+-1, compute-x+-10 and others\), /);
    expect(Buffer.byteLength(ready(world) ?? "")).toBeLessThan(1024);
  });
});
