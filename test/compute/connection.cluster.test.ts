import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { conditions, said } from "./conditions/conditions.ts";
import type { Raw } from "./support/cluster.ts";
import { keySecret } from "./support/manifests.ts";
import type { Scenario } from "./support/scenario.ts";
import { goodKey, preview, project } from "./support/seeded-service.ts";
import { Stage } from "./support/stage.ts";

let stage: Stage;
beforeAll(() => {
  stage = new Stage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const endpoints = `/projects/${project}/endpoints`;
const inUse = "compute-operator.dev/in-use";

/** Waits until the connection's condition Ready has this reason, and resolves with the connection. */
function connectionShows(shop: Scenario, reason: string, name = "default"): Promise<Raw> {
  return eventually(`connection ${name} to be ${reason}`, async () => {
    const connection = await shop.cluster.get("ServiceConnection", shop.namespace, name);
    return readyReason(connection) === reason ? connection : undefined;
  });
}

function readyReason({ status }: Raw): unknown {
  const list: { type: string; reason: string }[] = JSON.parse(JSON.stringify(status?.["conditions"] ?? []));
  return list.find(({ type }) => type === "Ready")?.reason;
}

function newKey(shop: Scenario): string {
  const { key }: { key: string } = shop.console("POST", "/organizations/org-shop/api_keys", { key_name: "new" });
  return key;
}

function revokeFirstKey(shop: Scenario): void {
  const keys: { id: number; name: string }[] = shop.console("GET", "/organizations/org-shop/api_keys");
  shop.console("DELETE", `/organizations/org-shop/api_keys/${keys.find(({ name }) => name === "ci")?.id}`);
}

describe.concurrent("a ServiceConnection", () => {
  it("tells key type and projects", async () => {
    const shop = await stage.scenario();
    const { status } = await connectionShows(shop, "Authenticated");
    expect(status).toMatchObject({ keyType: "organization", projectCount: 1, observedGeneration: 1 });
    expect(status?.["projects"]).toEqual([
      { id: project, name: project, regionID: "aws-us-east-2", pgVersion: 17, locked: false },
    ]);
  });

  it("takes a new key from its Secret at once, without one failed call, and the endpoint stays", async () => {
    const shop = await stage.scenario();
    await shop.compute("db");
    const before = await shop.ready("db");
    const key = newKey(shop);
    await shop.setKey(key);
    await eventually(
      "a list with the new key",
      () =>
        shop.calls.some(({ authorization, path }) => authorization === `Bearer ${key}` && path === endpoints) ||
        undefined,
    );
    revokeFirstKey(shop);
    await shop.lists(3);
    expect(shop.calls.filter(({ status = 0 }) => status >= 400)).toEqual([]);
    await shop.edit("db", { computeUnits: { min: 2, max: 2 } });
    const after = await shop.ready("db");
    expect(after.status.endpointID).toBe(before.status.endpointID);
    expect(shop.writes).toHaveLength(2);
  });

  it("refuses a key that was revoked, and sends at most the call that learned of it and a probe", async () => {
    const shop = await stage.scenario();
    await shop.compute("db");
    await shop.ready("db");
    revokeFirstKey(shop);
    await connectionShows(shop, "Unauthorized");
    await shop.reason("db", "Unauthorized");
    expect(shop.calls.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(2);
    await shop.setKey(newKey(shop));
    await connectionShows(shop, "Authenticated");
    await shop.ready("db");
    expect(shop.calls.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(2);
  });

  it.each([
    ["SecretNotFound", { apiKeySecretRef: { name: "nowhere" } }],
    ["InvalidSecret", { apiKeySecretRef: { name: "service-api-key", key: "other" } }],
    ["NotAllowed", { baseURL: "http://169.254.169.254/api/v2" }],
    ["Unreachable", { baseURL: "" }],
  ])("says %s, and sends the key nowhere", async (reason, spec) => {
    const shop = await stage.scenario();
    const wrong = reason === "Unreachable" ? { baseURL: shop.baseURL.replace("compute-", "nobody-") } : spec;
    await shop.cluster.create("ServiceConnection", shop.namespace, shop.connection(wrong, "wrong"));
    await connectionShows(shop, reason, "wrong");
    await shop.compute("db", { connectionRef: { name: "wrong" } });
    if (reason === "Unreachable") await shop.reason("db", "ServiceUnavailable");
    else await shop.reason("db", "ConnectionNotReady");
    expect(shop.writes).toEqual([]);
    await shop.cluster.modify("ServiceConnection", shop.namespace, "wrong", (connection) => {
      connection.spec = { ...shop.connection().spec };
    });
    await shop.ready("db");
  });

  it("keeps Computes out of projects that allowedProjects does not name", async () => {
    const shop = await stage.scenario({ connection: { allowedProjects: ["other"] } });
    await shop.compute("db");
    const refused = await shop.reason("db", "ConnectionNotReady");
    expect(said(refused)).toContain("does not allow project shop");
    expect(shop.calls.filter(({ path }) => path.startsWith(`/projects/${project}/`))).toEqual([]);
    await shop.editConnection({ allowedProjects: ["other", project] });
    await shop.ready("db");
  });

  it("and its Secret cannot go while a Compute uses them, and go when the last has gone", async () => {
    const shop = await stage.scenario();
    await shop.compute("db");
    await shop.ready("db");
    for (const kind of ["Secret", "ServiceConnection"] as const) {
      const name = kind === "Secret" ? "service-api-key" : "default";
      expect((await shop.cluster.get(kind, shop.namespace, name)).metadata.finalizers).toEqual([inUse]);
      await shop.cluster.delete(kind, shop.namespace, name);
      expect(await shop.event(name, "Deleting")).toContain("waits for the Computes that use this connection: db.");
    }
    await shop.lists(2);
    expect((await shop.cluster.get("Secret", shop.namespace, "service-api-key")).metadata.finalizers).toEqual([inUse]);
    await shop.compute("late", { branchID: preview });
    expect(said(await shop.reason("late", "ConnectionNotReady"))).toContain("is being deleted");
    await Promise.all(["db", "late"].map((name) => shop.cluster.delete("Compute", shop.namespace, name)));
    await Promise.all(["db", "late"].map((name) => shop.gone(name)));
    expect(shop.endpoints).toEqual([]);
    await eventually("both to go", async () => {
      const left = [
        await shop.cluster.find("ServiceConnection", shop.namespace, "default"),
        await shop.cluster.find("Secret", shop.namespace, "service-api-key"),
      ];
      return left.every((one) => one === undefined) || undefined;
    });
  });

  it("shares one budget with another of the same key, and the lowest figures win", async () => {
    const shop = await stage.scenario({ connection: { requestBudget: { perMinute: 60, burst: 3 } } });
    const other = shop.connection({ requestBudget: { perMinute: 60_000, burst: 1000 } }, "other");
    await shop.cluster.create("ServiceConnection", shop.namespace, other);
    await connectionShows(shop, "Authenticated", "other");
    shop.clearCalls();
    const names = Array.from({ length: 6 }, (_, index) => `db-${index}`);
    await Promise.all(
      names.map((name, index) =>
        shop.compute(name, { type: "read_only", connectionRef: { name: index % 2 === 0 ? "default" : "other" } }),
      ),
    );
    await Promise.all(names.map((name) => shop.ready(name)));
    const times = shop.calls.map(({ at }) => at);
    // One a second of the operator's, which is five times quicker than ours; three at once.
    const took = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000;
    expect(shop.calls.length).toBeLessThanOrEqual(3 + took * 5 + 1);
  });
});

describe.concurrent("a connection Secret", () => {
  const database = { name: "shop-db", database: "neondb", role: "neondb_owner" };
  const read = async (shop: Scenario) => {
    const { data = {}, ...secret } = await shop.cluster.get("Secret", shop.namespace, "shop-db");
    const text = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]);
    const fields: Record<string, string> = Object.fromEntries(text);
    return { ...secret, fields };
  };

  it("holds a URI that parses and whose host is the status's, and is owned", async () => {
    const shop = await stage.scenario();
    await shop.compute("db", { connectionSecret: database });
    const { status, metadata } = await shop.ready("db");
    expect(status.binding).toEqual({ name: "shop-db" });
    const { type, fields, metadata: meta } = await read(shop);
    expect(type).toBe("servicebinding.io/postgresql");
    expect(meta.ownerReferences).toMatchObject([{ kind: "Compute", uid: metadata.uid }]);
    const uri = new URL(fields["uri"] ?? "");
    expect([uri.hostname, uri.username, uri.pathname]).toEqual([status.host, "neondb_owner", "/neondb"]);
    expect(new URL(fields["pooled-uri"] ?? "").hostname).toBe(status.poolerHost);
    expect(fields).toMatchObject({
      host: status.host,
      "pooled-host": status.poolerHost,
      port: "5432",
      "endpoint-id": status.endpointID,
      username: uri.username,
      password: uri.password,
      database: "neondb",
    });
  });

  it("is repaired, made again, and goes when it is no longer wanted", async () => {
    const shop = await stage.scenario();
    await shop.compute("db", { connectionSecret: database });
    const { status } = await shop.ready("db");
    await shop.cluster.modify("Secret", shop.namespace, "shop-db", (secret) => {
      secret.data = { host: Buffer.from("elsewhere").toString("base64") };
    });
    await eventually("the repair", async () => (await read(shop)).fields["host"] === status.host || undefined);
    await shop.cluster.delete("Secret", shop.namespace, "shop-db");
    await eventually("another", async () => (await read(shop)).fields["host"] === status.host || undefined);
    await shop.edit("db", { connectionSecret: undefined });
    await eventually("its end", async () =>
      (await shop.cluster.find("Secret", shop.namespace, "shop-db")) === undefined ? true : undefined,
    );
    const after = await shop.until("db", "no binding", (db) => db.status.binding === undefined);
    expect(after.status.endpointID).toBe(status.endpointID);
  });

  it("follows the host of an endpoint that was made anew", async () => {
    const shop = await stage.scenario();
    await shop.compute("db", { connectionSecret: database });
    const { status } = await shop.ready("db");
    shop.console("DELETE", `${endpoints}/${status.endpointID}`);
    const after = await shop.until(
      "db",
      "another",
      (db) => db.status.state === "Active" && db.status.host !== status.host,
    );
    const followed = await eventually("the new host", async () => {
      const { fields } = await read(shop);
      return fields["host"] === after.status.host ? fields : undefined;
    });
    expect(followed["endpoint-id"]).toBe(after.status.endpointID);
  });

  it("that is not ours is never written over", async () => {
    const shop = await stage.scenario();
    const theirs = { ...keySecret("mine", "shop-db"), type: "Opaque" };
    await shop.cluster.create("Secret", shop.namespace, theirs);
    await shop.compute("db", { connectionSecret: database });
    const refused = await shop.reason("db", "Conflict");
    expect(conditions(refused)).toMatchObject({ Ready: "False", Stalled: "True" });
    expect(said(refused)).toContain('Secret "shop-db" exists and is not this Compute\'s');
    expect((await read(shop)).fields).toEqual({ "api-key": "mine" });
    await shop.cluster.delete("Secret", shop.namespace, "shop-db");
    await shop.annotate("db", "reconcileRequestedAt", "now");
    await shop.ready("db");
    expect((await read(shop)).fields["host"]).toBeDefined();
  });

  it("follows a move to another branch, whose role has another password", async () => {
    const shop = await stage.scenario();
    await shop.compute("db", { connectionSecret: database });
    await shop.ready("db");
    const before = (await read(shop)).fields;
    await shop.edit("db", { branchID: preview });
    await shop.ready("db");
    const after = await eventually("the other password", async () => {
      const { fields } = await read(shop);
      return fields["password"] === before["password"] ? undefined : fields;
    });
    expect(after["host"]).toBe(before["host"]);
    expect(new URL(after["uri"] ?? "").password).toBe(after["password"]);
  });

  it("that somebody made immutable is not followed, which says what to do", async () => {
    const shop = await stage.scenario();
    await shop.compute("db", { connectionSecret: database });
    await shop.ready("db");
    await shop.cluster.modify("Secret", shop.namespace, "shop-db", (secret) => {
      Object.assign(secret, { immutable: true });
    });
    await shop.edit("db", { connectionSecret: { ...database, database: "stock" } });
    const refused = await shop.reason("db", "Rejected");
    expect(said(refused)).toMatch(/Secret "shop-db" is to hold: .*immutable.* delete it: it is made anew/);
    await shop.cluster.delete("Secret", shop.namespace, "shop-db");
    await shop.ready("db");
    expect((await read(shop)).fields["database"]).toBe("stock");
  });

  it("shows the key of no connection, and no event or condition does", async () => {
    const shop = await stage.scenario();
    await shop.compute("db", { connectionSecret: database });
    await shop.ready("db");
    const events = JSON.stringify(await shop.cluster.list("Event", shop.namespace));
    const everything = `${events}${JSON.stringify(shop.history("db"))}${stage.log.join("\n")}`;
    const { fields } = await read(shop);
    for (const secret of [goodKey, fields["password"] ?? ""]) expect(everything).not.toContain(secret);
  });
});
