import { describe, expect, it } from "vitest";
import { jsonReply } from "../../src/service/http/message.ts";
import { eventually } from "../support/eventually.ts";
import { conditions, inProgress, reasonsIn, said } from "./conditions/conditions.ts";
import { newKey, revokeFirstKey } from "./support/keys.ts";
import { expectPauses } from "./support/pauses.ts";
import type { Scenario } from "./support/scenario.ts";
import { main, preview, project } from "./support/seeded-service.ts";
import { useStage } from "./support/use-stage.ts";

// Longer than a busy machine takes to delete a Compute whose create is pending.
const stage = useStage({ createSettleMs: 30_000 });

const endpoints = `/projects/${project}/endpoints`;
const create = `POST ${endpoints}`;

/** Asks for the deletion, as `kubectl delete --wait=false` does. */
const remove = (shop: Scenario, name = "db") => shop.cluster.delete("Compute", shop.namespace, name);

/** Waits until a Compute that is being deleted shows this reason. */
const waitsWith = (shop: Scenario, reason: string) =>
  shop.until("db", `deletion that waits with ${reason}`, (db) => {
    return said(db).startsWith("Deletion waits") && reasonsIn([db])[0] === reason;
  });

const retain = (shop: Scenario) => shop.edit("db", { deletionPolicy: "Retain" });

describe.concurrent("a Compute is deleted", () => {
  it("a Compute that never had an endpoint is deleted, and nothing is deleted at the service", async () => {
    const shop = await stage().scenario({ endpoints: [{ id: "ep-theirs", branchID: main }] });
    await shop.compute("db");
    await shop.reason("db", "PrimaryExists");
    await remove(shop);
    await shop.gone("db");
    expect(shop.writes).toEqual([]);
    expect(shop.endpoints.map(({ id }) => id)).toEqual(["ep-theirs"]);
  });

  it("a Compute with a pending create is deleted: the endpoint that the lost reply was about goes too", async () => {
    const shop = await stage().scenario();
    shop.faults({ kind: "drop-after", method: "POST", count: 1 }, { kind: "503", method: "GET", route: endpoints });
    await shop.compute("db", { type: "read_only" }, {});
    shop.faults({ kind: "drop-after", method: "POST", count: 1 });
    await shop.until("db", "the record", (db) => db.status.pendingWrite !== undefined && shop.writes.length === 1);
    await remove(shop);
    await shop.gone("db");
    expect(shop.endpoints).toEqual([]);
    expect(shop.writes).toHaveLength(2);
  });

  it("a Compute with a pending create that never arrived is deleted when that is sure", async () => {
    const shop = await stage().scenario();
    shop.faults({ kind: "drop-before", method: "POST" });
    await shop.compute("db", { type: "read_only" });
    await shop.reason("db", "CreateUnknown");
    await remove(shop);
    const waiting = await shop.until("db", "the reason for its wait", (db) =>
      said(db).includes("before the Compute is removed"),
    );
    expect(waiting.metadata.finalizers).toEqual(["compute-operator.dev/endpoint"]);
    await shop.gone("db");
    expect(shop.writes).toEqual([create]);
  });

  it("a Compute without its endpoint is deleted once it is proved that the endpoint is gone", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const { status } = await shop.ready("db");
    // Nothing proves the loss before the deletion is seen, or another endpoint would be made in its place.
    const own = `${endpoints}/${status.endpointID}`;
    const away = { request_id: "r", code: "", message: "not now" };
    shop.host.instead = ({ path }) => (path === own ? jsonReply(503, away) : undefined);
    shop.console("DELETE", own);
    await shop.lists(2);
    await remove(shop);
    await shop.until("db", "its deletion", (db) => db.status.state === "Deleting");
    shop.host.instead = undefined;
    await shop.gone("db");
    expect(await shop.event("db", "Deleted")).toContain("already gone");
    expect(shop.writes).toEqual([create]);
  });

  it("a Compute on a branch that is gone is deleted, and its endpoint with it", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { branchID: preview });
    await shop.ready("db");
    shop.console("DELETE", `/projects/${project}/branches/${preview}`);
    await shop.lists(2);
    await remove(shop);
    await shop.gone("db");
    expect(shop.writes).toEqual([create]);
  });

  it("a Compute in a project that is gone is deleted, as the project's own GET and the list of projects prove", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    await shop.ready("db");
    shop.console("POST", "/projects", { project: { name: "another", org_id: "org-shop" } });
    shop.console("DELETE", `/projects/${project}`);
    await shop.lists(2);
    await remove(shop);
    await shop.gone("db");
    expect(await shop.event("db", "Released")).toBe(
      "Project shop no longer exists at the service, nor do its endpoints.",
    );
    expect(shop.writes).toEqual([create]);
  });

  it("a Compute with Retain is deleted: the endpoint stays, and an event says so", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { deletionPolicy: "Retain" });
    const { status } = await shop.ready("db");
    await remove(shop);
    await shop.gone("db");
    expect(await shop.event("db", "Released")).toBe(`Endpoint ${status.endpointID} is kept: deletionPolicy is Retain.`);
    expect(shop.endpoints.map(({ id }) => id)).toEqual([status.endpointID]);
  });

  it("a paused Compute is not deleted: it waits and says so, and goes when it is no longer paused", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    await shop.ready("db");
    await shop.annotate("db", "paused", "true");
    await shop.reason("db", "Paused");
    await remove(shop);
    const waiting = await waitsWith(shop, "Paused");
    await shop.lists(2);
    expect(said(shop.history("db").at(-1) ?? waiting)).toMatch(/Deletion waits: .*paused/);
    expect(shop.writes).toEqual([create]);
    await shop.annotate("db", "paused", undefined);
    await shop.gone("db");
    expect(shop.endpoints).toEqual([]);
  });

  it("a Compute in a busy project waits and is deleted automatically", async () => {
    const shop = await stage().scenario({ service: { timeScale: 0.1 } });
    await shop.compute("db");
    await shop.until("db", "its endpoint", ({ status }) => status.endpointID !== undefined);
    await remove(shop);
    await shop.gone("db");
    expect(shop.endpoints).toEqual([]);
    expectPauses(
      shop.calls.filter(({ status }) => status === 423),
      { firstMs: 100, mostMs: 10_000 },
    );
    expect(shop.writes.filter((write) => write.startsWith("POST"))).toEqual([create]);
  });

  it.each([
    ["Unauthorized", revokeFirstKey, (shop: Scenario) => shop.setKey(newKey(shop))],
    ["ServiceUnavailable", (shop: Scenario) => shop.faults({ kind: "503" }), (shop: Scenario) => shop.faults()],
    [
      "ConnectionNotReady",
      (shop: Scenario) => shop.editConnection({ allowedProjects: ["other"] }),
      (shop: Scenario) => shop.editConnection({ allowedProjects: [project] }),
    ],
  ] as const)(
    "a deletion under %s says what it waits for, names the endpoint, and goes when that is right",
    async (reason, break_, mend) => {
      const shop = await stage().scenario();
      await shop.compute("db");
      const { status } = await shop.ready("db");
      await break_(shop);
      await shop.reason("db", reason);
      await remove(shop);
      const waiting = await waitsWith(shop, reason);
      expect(said(waiting)).toMatch(/^Deletion waits.*set spec\.deletionPolicy to Retain/);
      expect(said(waiting)).toContain(status.endpointID);
      await mend(shop);
      await shop.gone("db");
      expect(shop.endpoints).toEqual([]);
    },
  );

  it("a Compute with a key that may not delete says so and what to do, is tried again, and Retain lets it go", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const { status } = await shop.ready("db");
    shop.host.instead = ({ method }) =>
      method === "DELETE" ? jsonReply(403, { request_id: "r", code: "", message: "no right to delete" }) : undefined;
    await remove(shop);
    const refused = await shop.reason("db", "Forbidden");
    expect(conditions(refused)).toEqual(inProgress("Forbidden"));
    expect(refused.status.state).toBe("Deleting");
    expect(said(refused)).toContain(`may not delete endpoint ${status.endpointID} (no right to delete)`);
    expect(said(refused)).toMatch(/retried automatically\. Or set spec\.deletionPolicy to Retain/);
    expect(await shop.event("db", "Forbidden")).toBe(said(refused));
    const deletes = () => shop.calls.filter(({ method }) => method === "DELETE");
    await eventually("another try", () => (deletes().length > 1 ? true : undefined));
    expectPauses(deletes(), { firstMs: 5_000, mostMs: 300_000 });
    await retain(shop);
    await shop.gone("db");
    expect(await shop.event("db", "Released")).toContain("deletionPolicy is Retain");
    expect(shop.endpoints.map(({ id }) => id)).toEqual([status.endpointID]);
  });

  it("a Compute with a key that gets the right to delete later is deleted automatically", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    await shop.ready("db");
    shop.host.instead = ({ method }) =>
      method === "DELETE" ? jsonReply(403, { request_id: "r", code: "", message: "no right to delete" }) : undefined;
    await remove(shop);
    await shop.reason("db", "Forbidden");
    shop.host.instead = undefined;
    await shop.gone("db");
    expect(shop.endpoints).toEqual([]);
  });

  it("a Compute that lost its connection by force says so, and Retain lets it go", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const { status } = await shop.ready("db");
    await shop.cluster.delete("ServiceConnection", shop.namespace, "default");
    await shop.cluster.modify("ServiceConnection", shop.namespace, "default", (connection) => {
      delete connection.metadata.finalizers;
    });
    await shop.reason("db", "ConnectionNotFound");
    await remove(shop);
    await waitsWith(shop, "ConnectionNotFound");
    await retain(shop);
    await shop.gone("db");
    expect(shop.endpoints.map(({ id }) => id)).toEqual([status.endpointID]);
  });
});

describe.concurrent("kubectl delete namespace", () => {
  it("ends automatically, with a pool in it too: every compute is deleted at the service and none is created again", async () => {
    const shop = await stage().scenario();
    const names = ["db", "replica-1", "replica-2"];
    await shop.compute("db", { connectionSecret: { name: "shop-db" } });
    await Promise.all(names.slice(1).map((name) => shop.compute(name, { type: "read_only" })));
    await shop.cluster.create("ComputePool", shop.namespace, {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ComputePool",
      metadata: { name: "readers" },
      spec: { replicas: 2, template: { projectID: project, branchID: preview } },
    });
    names.push("readers-0", "readers-1");
    await Promise.all(names.map((name) => shop.ready(name)));
    await shop.cluster.deleteNamespace(shop.namespace);
    await Promise.all(names.map((name) => shop.gone(name)));
    expect(shop.endpoints).toEqual([]);
    // It takes half a minute longer where another test has just removed a kind that was to be emptied too.
    const isGone = async () => ((await shop.cluster.namespaceExists(shop.namespace)) ? undefined : true);
    await eventually("the namespace's end", isGone);
    expect(shop.writes.filter((write) => write.startsWith("POST"))).toHaveLength(5);
    expect(shop.writes.filter((write) => write.startsWith("DELETE"))).toHaveLength(5);
  });
});
