import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { said } from "./conditions/conditions.ts";
import type { Raw } from "./support/cluster-admin.ts";
import { newKey, revokeFirstKey } from "./support/keys.ts";
import type { Scenario } from "./support/scenario.ts";
import { preview, project } from "./support/seeded-service.ts";
import { useStage } from "./support/use-stage.ts";

const stage = useStage();

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

describe.concurrent("a ServiceConnection", () => {
  it("tells key type and projects", async () => {
    const shop = await stage().scenario();
    const { status } = await connectionShows(shop, "Authenticated");
    expect(status).toMatchObject({ keyType: "organization", projectCount: 1, observedGeneration: 1 });
    expect(status?.["projects"]).toEqual([
      { id: project, name: project, regionID: "aws-us-east-2", pgVersion: 17, locked: false },
    ]);
  });

  it("takes a new key from its Secret at once, without one failed call, and the endpoint stays", async () => {
    const shop = await stage().scenario();
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

  it("sends nothing more with the old key, not even what waited for the budget when it was changed", async () => {
    const shop = await stage().scenario({ connection: { requestBudget: { perMinute: 12, burst: 1 } } });
    const wanted = { project: { name: "other", org_id: "org-shop" } };
    const made: { project: { id: string }; branch: { id: string } } = shop.console("POST", "/projects", wanted);
    const key = newKey(shop);
    const other = { projectID: made.project.id, branchID: made.branch.id };
    await Promise.all([
      shop.compute("one", { type: "read_only" }),
      shop.compute("two", { type: "read_only", ...other }),
    ]);
    // Both projects are listed, and both creates wait for the budget; then one has gone out.
    await eventually("the first create", () => (shop.writes.length > 0 ? true : undefined), { everyMs: 10 });
    await shop.setKey(key);
    // The operator hears of it a moment after the Secret is written.
    const changed = shop.calls.findIndex(({ authorization }) => authorization === `Bearer ${key}`);
    await Promise.all(["one", "two"].map((name) => shop.ready(name)));
    const authorizations = shop.calls.slice(changed).map(({ authorization }) => authorization);
    expect(new Set(authorizations)).toEqual(new Set([`Bearer ${key}`]));
    expect(shop.writes.filter((write) => write.startsWith("POST"))).toHaveLength(2);
  });

  it("refuses a key that was revoked, and sends at most the calls of the five seconds until that is sure, and a probe", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    await shop.ready("db");
    revokeFirstKey(shop);
    await connectionShows(shop, "Unauthorized");
    await shop.reason("db", "Unauthorized");
    expect(shop.calls.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(5);
    await shop.setKey(newKey(shop));
    await connectionShows(shop, "Authenticated");
    await shop.ready("db");
    expect(shop.calls.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(5);
  });

  it.each([
    ["SecretNotFound", { apiKeySecretRef: { name: "nowhere" } }],
    ["InvalidSecret", { apiKeySecretRef: { name: "service-api-key", key: "other" } }],
    ["NotAllowed", { baseURL: "http://169.254.169.254/api/v2" }],
    ["Unreachable", { baseURL: "" }],
  ])("says %s, and sends the key nowhere", async (reason, spec) => {
    const shop = await stage().scenario();
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
    const shop = await stage().scenario({ connection: { allowedProjects: ["other"] } });
    // Until then the operator may know the connection and not its Secret yet, and says so.
    await connectionShows(shop, "Authenticated");
    await shop.compute("db");
    const refused = await shop.reason("db", "ConnectionNotReady");
    expect(said(refused)).toContain("does not allow project shop");
    expect(shop.calls.filter(({ path }) => path.startsWith(`/projects/${project}/`))).toEqual([]);
    await shop.editConnection({ allowedProjects: ["other", project] });
    await shop.ready("db");
  });

  it("a connection and its Secret cannot go while a Compute uses them, and go when the last has gone", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    await shop.ready("db");
    for (const kind of ["Secret", "ServiceConnection"] as const) {
      const name = kind === "Secret" ? "service-api-key" : "default";
      expect((await shop.cluster.get(kind, shop.namespace, name)).metadata.finalizers).toEqual([inUse]);
      await shop.cluster.delete(kind, shop.namespace, name);
      expect(await shop.event(name, "Deleting")).toMatch(/ waits until nothing uses this connection\. .*\(db\)/);
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
    const shop = await stage().scenario({ connection: { requestBudget: { perMinute: 60, burst: 3 } } });
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
