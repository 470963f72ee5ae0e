import { describe, expect, it, test } from "vitest";
import type { ClusterRequest } from "../../src/operator/kube/transport.ts";
import { conditionOf } from "../../src/operator/objects/conditions-of.ts";
import { asRecord } from "../../src/operator/objects/record.ts";
import { said } from "./conditions/conditions.ts";
import { SmallWorld } from "./support/small-world.ts";

const root = "/apis/compute-operator.dev/v1alpha1/namespaces/default";
const pools = `${root}/computepools`;

/** Makes, or changes, the pool `db`, whose members are the Computes `db-0`, `db-1` and so on. */
function declare(world: SmallWorld, replicas: number, template: Record<string, unknown> = {}): void {
  const spec = { replicas, template: { projectID: "shop", branchID: "br-0-a", ...template } };
  const pool = { apiVersion: "compute-operator.dev/v1alpha1", kind: "ComputePool", metadata: { name: "db" }, spec };
  const found = world.server.handle({ method: "GET", path: `${pools}/db` });
  if (found.status === 404) world.send("POST", pools, pool);
  else world.send("PUT", `${pools}/db`, { ...world.send("GET", `${pools}/db`), spec });
}

it("a template with branchName makes all members on that branch, and moves them with an edit", async () => {
  await using world = new SmallWorld(["br-0-a", "br-0-b"], 1);
  const byName = (branchName: string) => ({ branchID: undefined, branchName });
  declare(world, 2, byName("br-0-a"));
  await world.clock.advance(1000);
  await world.settle(2);
  expect(world.compute(0).spec).toMatchObject({ branchName: "br-0-a" });
  expect(world.endpoints.map(({ branch_id }) => branch_id)).toEqual(["br-0-a", "br-0-a"]);
  declare(world, 2, byName("br-0-b"));
  await world.clock.advance(10_000);
  await world.settle(2);
  expect(world.endpoints.map(({ branch_id }) => branch_id)).toEqual(["br-0-b", "br-0-b"]);
  expect(world.writes.filter((write) => write.startsWith("PATCH"))).toHaveLength(2);
});

const connectionOf = (world: SmallWorld, name: string) => world.send("GET", `${root}/serviceconnections/${name}`);

it("a deleted connection says that it goes and which pool uses it, and is gone once the pool names another", async () => {
  await using world = new SmallWorld(["br-0-a"], 1);
  declare(world, 2);
  await world.clock.advance(1000);
  await world.settle(2);
  world.send("DELETE", `${root}/serviceconnections/default`);
  await world.clock.advance(10_000);
  const [ready] = connectionOf(world, "default").status.conditions;
  expect(ready).toMatchObject({ type: "Ready", status: "False", reason: "Deleting" });
  expect(ready.message).toContain("(ComputePool db)");
  declare(world, 3);
  await world.clock.advance(10_000);
  expect(said(world.compute(2))).toContain("Name another in spec.template.connectionRef of the ComputePool.");
  const before = world.writes;
  const { apiVersion, kind, spec } = connectionOf(world, "default");
  world.send("POST", `${root}/serviceconnections`, { apiVersion, kind, metadata: { name: "second" }, spec });
  declare(world, 3, { connectionRef: { name: "second" } });
  await world.settle(3);
  await world.clock.advance(10_000);
  // The members that stood keep their endpoints; the one that waited has got its own.
  expect(world.writes.slice(before.length)).toEqual(["POST /projects/shop/endpoints"]);
  expect(world.server.handle({ method: "GET", path: `${root}/serviceconnections/default` }).status).toBe(404);
  expect([0, 1, 2].map((index) => world.compute(index).spec.connectionRef.name)).toEqual(Array(3).fill("second"));
});

describe("a direct edit of a pool's member", () => {
  test.each([
    ["a size", { computeUnits: { min: 4, max: 8 } }],
    ["a state", { disabled: true }],
    ["a branch", { branchID: "br-0-b" }],
    ["a connection Secret", { connectionSecret: { name: "other" } }],
  ])("a direct edit of %s is put back before anything is sent, and its Secret stays", async (_what, edit) => {
    await using world = new SmallWorld(["br-0-a", "br-0-b"], 1);
    declare(world, 2, { computeUnits: { min: 1, max: 1 }, connectionSecret: { name: "db" } });
    await world.clock.advance(1000);
    await world.settle(2);
    const before = world.writes.length;
    const secret = world.secretsOf(0);
    world.edit(0, edit);
    await world.clock.advance(120_000);
    await world.settle(2);
    expect(world.writes.slice(before)).toEqual([]);
    expect(world.compute(0).spec).toMatchObject({ computeUnits: { min: 1, max: 1 }, branchID: "br-0-a" });
    expect(world.compute(0).spec.disabled).toBeUndefined();
    expect(world.secretsOf(0)).toEqual(secret);
  });

  test("a direct edit of a member that is to be removed is not carried out either", async () => {
    await using world = new SmallWorld(["br-0-a"], 1);
    declare(world, 2);
    await world.clock.advance(1000);
    await world.settle(2);
    const before = world.writes.length;
    world.edit(1, { disabled: true });
    declare(world, 1);
    await world.clock.advance(60_000);
    expect(world.writes.slice(before)).toEqual([expect.stringMatching(/^DELETE /)]);
  });
});

test("a changed template is one write for each member", async () => {
  await using world = new SmallWorld(["br-0-a"], 1);
  declare(world, 3, { computeUnits: { min: 1, max: 1 } });
  await world.clock.advance(1000);
  await world.settle(3);
  const before = world.writes.length;
  declare(world, 3, { computeUnits: { min: 2, max: 2 } });
  await world.clock.advance(60_000);
  expect(world.writes.slice(before).map((write) => write.split(" ")[0])).toEqual(["PATCH", "PATCH", "PATCH"]);
});

test("a pool makes the member whose name another Compute took, as soon as that one is deleted", async () => {
  await using world = new SmallWorld(["br-0-a"], 1);
  world.declare(0, { projectID: "shop", branchID: "br-0-a", type: "read_only" });
  await world.settle(1);
  declare(world, 1);
  await world.clock.advance(1000);
  const ready = () => conditionOf(world.send("GET", `${pools}/db`).status, "Ready");
  expect(ready()).toMatchObject({ reason: "Conflict" });
  world.remove(0);
  await world.clock.advance(10_000);
  await world.settle(1);
  expect(ready()).toMatchObject({ status: "True" });
});

test("a Compute that its pool no longer owns is changed like any other", async () => {
  await using world = new SmallWorld(["br-0-a"], 1);
  declare(world, 1);
  await world.clock.advance(1000);
  await world.settle(1);
  const before = world.writes.length;
  const member = world.send("GET", `${root}/computes/db-0`);
  world.send("PUT", `${root}/computes/db-0`, { ...member, metadata: { ...member.metadata, ownerReferences: [] } });
  world.edit(0, { disabled: true });
  await world.clock.advance(60_000);
  expect(world.writes.slice(before)).toEqual([expect.stringMatching(/^PATCH /)]);
});

it("a replica of a pool adopts what a person says its create made, where no names are shown, and deletes it at its end", async () => {
  await using world = new SmallWorld(["br-0-a"], 1, { strictSpec: true });
  world.host.service.setFaults([{ kind: "drop-after", method: "POST", route: "*", count: 1 }]);
  const pool = {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ComputePool",
    metadata: { name: "db" },
    spec: { replicas: 1, template: { projectID: "shop", branchID: "br-0-a", deletionPolicy: "Delete" } },
  };
  world.send("POST", pools, pool);
  await world.clock.advance(90_000);
  expect(said(world.compute(0))).toContain("Set spec.adopt.endpointID to the right one");
  const [made] = world.endpoints;
  world.edit(0, { adopt: { endpointID: made?.id } });
  await world.settle(1);
  await world.clock.advance(60_000);
  expect(world.compute(0).spec.adopt).toEqual({ endpointID: made?.id });
  world.send("PUT", `${pools}/db`, { ...world.send("GET", `${pools}/db`), spec: { ...pool.spec, replicas: 0 } });
  await world.clock.advance(120_000);
  expect([world.isGone(0), world.endpoints]).toEqual([true, []]);
});

describe("a mutating admission policy", () => {
  const isWrite = ({ method, path }: ClusterRequest) => method !== "GET" && /\/computes(\/[^/]+)?$/.test(path);

  /** Sets `deletionPolicy` of every Compute that is created or changed; returns the writes to members. */
  function retaining(world: SmallWorld): string[] {
    const writes: string[] = [];
    const handle = world.server.handle.bind(world.server);
    const retained = (spec: unknown) => ({ ...asRecord(spec), deletionPolicy: "Retain" });
    world.server.handle = (request, asOf) => {
      if (!isWrite(request)) return handle(request, asOf);
      writes.push(request.method);
      const body = Array.isArray(request.body)
        ? request.body.map((one) => (one.path === "/spec" ? { ...one, value: retained(one.value) } : one))
        : { ...asRecord(request.body), spec: retained(asRecord(request.body).spec) };
      return handle({ ...request, body }, asOf);
    };
    return writes;
  }

  test("a mutating policy that changes the members of a pool is accepted, named in its condition and not fought", async () => {
    await using world = new SmallWorld(["br-0-a"], 1);
    const writes = retaining(world);
    declare(world, 3, { computeUnits: { min: 1, max: 1 } });
    await world.clock.advance(1000);
    await world.settle(3);
    await world.clock.advance(60_000);
    expect(conditionOf(world.send("GET", `${pools}/db`).status, "Ready")).toMatchObject({
      status: "True",
      message: expect.stringContaining("An admission policy changed deletionPolicy of their spec"),
    });
    writes.length = 0;
    await world.clock.advance(600_000);
    expect([writes, world.timesEmitted("DriftCorrected")]).toEqual([[], 0]);
    expect(world.compute(0).spec.deletionPolicy).toBe("Retain");
  });

  test("does not keep an edit of a member from being put back, nor a changed template from its members", async () => {
    await using world = new SmallWorld(["br-0-a"], 1);
    retaining(world);
    declare(world, 1, { computeUnits: { min: 1, max: 1 } });
    await world.clock.advance(1000);
    await world.settle(1);
    const before = world.writes.length;
    world.edit(0, { computeUnits: { min: 4, max: 4 } });
    await world.clock.advance(60_000);
    expect([world.writes.length, world.timesEmitted("DriftCorrected")]).toEqual([before, 1]);
    declare(world, 1, { computeUnits: { min: 2, max: 2 } });
    await world.clock.advance(60_000);
    expect(world.compute(0).spec).toMatchObject({ computeUnits: { min: 2, max: 2 }, deletionPolicy: "Retain" });
  });

  test("costs one write for each member and no event after a restart", async () => {
    await using world = new SmallWorld(["br-0-a"], 1);
    const writes = retaining(world);
    declare(world, 2);
    await world.clock.advance(1000);
    await world.settle(2);
    await world.clock.advance(60_000);
    writes.length = 0;
    await world.restart();
    await world.clock.advance(600_000);
    expect([writes, world.timesEmitted("DriftCorrected")]).toEqual([["PATCH", "PATCH"], 0]);
  });
});
