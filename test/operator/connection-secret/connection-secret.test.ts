import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { compute, endpoint } from "../../support/builders.ts";
import { json, refusal } from "../../support/scripted-service.ts";
import { bound, host, secrets, self, setUp } from "./keeping.ts";

describe("a connection Secret", () => {
  test("holds all that an application needs, and is owned by its Compute", async () => {
    const { keep, read, stored } = setUp();
    expect(await keep(self)).toEqual(bound);
    expect(read()).toEqual({
      type: "postgresql",
      host,
      "pooled-host": "ep-one-pooler.aws.example.com",
      port: "5432",
      "endpoint-id": "ep-one",
      username: "app",
      password: "p@ss",
      database: "shop",
      uri: "postgresql://app:p%40ss@ep-one.aws.example.com/shop?sslmode=require",
      "pooled-uri": "postgresql://app:p%40ss@ep-one-pooler.aws.example.com/shop?sslmode=require",
    });
    const [, table = ""] =
      /## The connection Secret\n(.*?)\n## /s.exec(readFileSync("docs/reference.md", "utf8")) ?? [];
    const rows = table.split("\n").flatMap((row) => /^(`.*?`)\|/.exec(row)?.[1] ?? []);
    const described = rows.flatMap((row) => [...row.matchAll(/`([\w-]+)`/g)].map(([, key]) => key));
    const rare = ["options", "pooled-options"];
    expect(new Set(described)).toEqual(new Set([...Object.keys(read() ?? {}), ...rare]));
    expect(stored()[0]).toMatchObject({
      type: "servicebinding.io/postgresql",
      metadata: { ownerReferences: [{ uid: self.metadata.uid, controller: true }] },
    });
  });

  test("takes address and options from a URI whose options name the endpoint", async () => {
    const { keep, read, service } = setUp();
    service.script = ({ query }) => {
      const name = query?.pooled === "true" ? "ep-one-pooler" : "ep-one";
      return json(200, { uri: `postgresql://app:x@127.0.0.1:6543/shop?options=endpoint%3D${name}` });
    };
    await keep(self);
    expect(read()).toMatchObject({
      host: "127.0.0.1",
      "pooled-host": "127.0.0.1",
      port: "6543",
      options: "endpoint=ep-one",
      "pooled-options": "endpoint=ep-one-pooler",
    });
  });

  test("a Secret without database and role asks the service for nothing", async () => {
    const { keep, read, service } = setUp();
    await keep(compute({ namespace: "default", spec: { connectionSecret: { name: "shop-db" } } }));
    expect(Object.keys(read() ?? {})).toEqual(["type", "host", "pooled-host", "port", "endpoint-id"]);
    expect(service.requests).toEqual([]);
  });

  test("a Secret without database and role asks the service for nothing either where a person requests a reconcile", async () => {
    const { keep, service, writes } = setUp();
    const spec = { connectionSecret: { name: "shop-db" } };
    await keep(compute({ namespace: "default", spec }));
    const requested = compute({ namespace: "default", spec, annotations: { reconcileRequestedAt: "now" } });
    expect(await keep(requested)).toEqual(bound);
    expect([service.requests, writes()]).toEqual([[], ["POST"]]);
  });

  test("a connection Secret has no pooled host where the host does not begin with the endpoint's id", async () => {
    const { keep, read } = setUp();
    const spec = { connectionSecret: { name: "shop-db" } };
    await keep(compute({ namespace: "default", spec }), endpoint({ host: "db.example.com" }));
    expect(read()).toEqual({ type: "postgresql", host: "db.example.com", port: "5432", "endpoint-id": "ep-one" });
  });

  test.each([
    ["changed by hand", [{ op: "add", path: "/data/host", value: "eA==" }]],
    ["added to", [{ op: "add", path: "/data/more", value: "eA==" }]],
    ["taken from", [{ op: "remove", path: "/data/password" }]],
  ])("a connection Secret is repaired where it was %s", async (_, ops) => {
    const { keep, read, change } = setUp();
    await keep(self);
    const before = read();
    change(ops);
    expect(read()).not.toEqual(before);
    const message =
      'Secret "shop-db" was changed outside the operator, and its content was restored. Change spec.connectionSecret instead.';
    expect(await keep(self)).toEqual({ ...bound, event: { type: "Warning", reason: "SecretUpdated", message } });
    expect(read()).toEqual(before);
    expect(await keep(self)).toEqual(bound);
  });

  test("a connection Secret is created again and reported if it was deleted", async () => {
    const { keep, read, cluster } = setUp();
    await keep(self);
    const before = read();
    cluster.server.handle({ method: "DELETE", path: `${secrets}/shop-db` });
    const status = { binding: { name: "shop-db" } };
    expect(await keep({ ...self, status })).toMatchObject({ ...bound, event: { reason: "SecretUpdated" } });
    expect(read()).toEqual(before);
  });

  test("follows the host, and the database and role that the spec names", async () => {
    const { keep, read, service } = setUp();
    await keep(self);
    await keep(self, endpoint({ id: "ep-two", host: "ep-two.aws.example.com" }));
    expect(read()).toMatchObject({ host: "ep-two.aws.example.com", "endpoint-id": "ep-two" });
    const other = { connectionSecret: { name: "shop-db", database: "stock", role: "app" } };
    await keep(
      compute({ namespace: "default", spec: other }),
      endpoint({ id: "ep-two", host: "ep-two.aws.example.com" }),
    );
    expect(service.requests.at(-1)?.query).toMatchObject({ database_name: "stock", endpoint_id: "ep-two" });
  });

  test("follows a move to another branch, where its role may have another password", async () => {
    const { keep, read, service } = setUp();
    await keep(self);
    service.script = () => json(200, { uri: "postgresql://app:other@ep-one.aws.example.com/shop" });
    expect(await keep(self, endpoint({ host, branch_id: "br-preview" }))).toEqual(bound);
    expect(read()).toMatchObject({ password: "other" });
  });

  test("holds a password with a lone per cent sign as it is", async () => {
    const { keep, read, service } = setUp();
    service.script = () => json(200, { uri: "postgresql://app:100%25%@ep-one.aws.example.com/shop" });
    expect(await keep(self)).toEqual(bound);
    expect(read()?.["password"]).toBe("100%25%");
  });

  test("a connection Secret that is named otherwise stays until the other is there", async () => {
    const { keep, stored, ownedByOther } = setUp();
    const renamed = (name: string) => compute({ namespace: "default", spec: { connectionSecret: { name } } });
    await keep(renamed("first"));
    ownedByOther({});
    expect(await keep(self)).toMatchObject({ kind: "failed", reason: "Conflict" });
    expect(stored().map(({ metadata }) => metadata.name)).toContain("first");
  });

  test("a connection Secret that is named otherwise stays while the budget keeps the other waiting", async () => {
    const { keep, stored, state } = setUp();
    await keep(compute({ namespace: "default", spec: { connectionSecret: { name: "first" } } }));
    state.affordable = false;
    expect(await keep(self)).toEqual({ kind: "later" });
    expect(stored().map(({ metadata }) => metadata.name)).toEqual(["first"]);
    state.affordable = true;
    expect(await keep(self)).toEqual(bound);
    expect(stored().map(({ metadata }) => metadata.name)).toEqual(["shop-db"]);
  });

  test("a connection Secret is removed when it is named otherwise, or no longer named", async () => {
    const { keep, stored } = setUp();
    const names = () => stored().map(({ metadata }) => metadata.name);
    await keep(self);
    await keep(compute({ namespace: "default", spec: { connectionSecret: { name: "other" } } }));
    expect(names()).toEqual(["other"]);
    expect(await keep(compute({ namespace: "default" }))).toEqual({ kind: "none" });
    expect(names()).toEqual([]);
  });

  test.each([
    ["nothing of ours", {}],
    ["our label alone", { labels: { "compute-operator.dev/compute": self.metadata.uid } }],
    [
      "our label and another's ownership",
      {
        labels: { "compute-operator.dev/compute": self.metadata.uid },
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "other" }],
      },
    ],
  ])("a connection Secret is never written over a Secret with %s", async (_, metadata) => {
    const { keep, read, ownedByOther } = setUp();
    ownedByOther(metadata);
    expect(await keep(self)).toMatchObject({
      kind: "failed",
      reason: "Conflict",
      message: expect.stringContaining("so it is not overwritten"),
    });
    expect(read()).toEqual({ own: "x" });
  });

  test("a connection Secret that the watch has not delivered yet is known as ours", async () => {
    const { keep, state } = setUp();
    await keep(self);
    state.lagging = true;
    expect(await keep(self)).toEqual(bound);
  });

  test("a connection Secret that cannot be made says why, and holds no half of it", async () => {
    const { keep, service, stored } = setUp();
    service.script = () => refusal(404, "role not found");
    expect(await keep(self)).toMatchObject({
      kind: "failed",
      reason: "Rejected",
      message: expect.stringMatching(/role not found.*remove both/),
    });
    expect(stored()).toEqual([]);
  });

  test.each([
    ["database not found", 'has no database "'],
    ["role not found", 'has no role "'],
    ["no such role or database", 'has no database "'],
    ["route not found", "The service could not return the connection details"],
  ])("a connection Secret for which the service says %j says what is missing, and what to do", async (said, words) => {
    const { keep, service } = setUp();
    service.script = () => refusal(404, said);
    const { message } = Object.assign({ message: "" }, await keep(self));
    expect(message).toContain(words);
    expect(message).toContain(said);
    expect(message).toMatch(/spec\.connectionSecret.*remove both/);
  });

  test("waits for a host", async () => {
    const { keep, stored } = setUp();
    expect(await keep(self, endpoint())).toEqual({ kind: "none" });
    expect(stored()).toEqual([]);
  });
});
