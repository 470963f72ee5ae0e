import { describe, expect, it } from "vitest";
import { isReady } from "../support/is-ready.ts";
import { conditions, said, settled, stalled } from "./conditions/conditions.ts";
import { type Scenario } from "./support/scenario.ts";
import { main, preview, project, staging } from "./support/seeded-service.ts";
import { useStage } from "./support/use-stage.ts";

const stage = useStage();

const endpoints = `/projects/${project}/endpoints`;
const create = `POST ${endpoints}`;
const strict = { service: { strictSpec: true, timeScale: 10 } };
const theirs = { ...strict, endpoints: [{ id: "ep-theirs", branchID: main }] };

const remove = async (shop: Scenario, name = "db") => {
  await shop.cluster.delete("Compute", shop.namespace, name);
};

describe.concurrent("with a service that shows no names, no operations and no more than the specification, a Compute", () => {
  it("a Compute is made, changed, restarted and deleted with one write each", async () => {
    const shop = await stage().scenario(strict);
    await shop.compute("db", { computeUnits: { min: 1, max: 1 } });
    const { status } = await shop.ready("db");
    await shop.edit("db", { computeUnits: { min: 2, max: 2 }, scaleToZero: { enabled: false } });
    expect((await shop.ready("db")).status.size).toBe("2 CU");
    await shop.annotate("db", "restartedAt", "now");
    await shop.until("db", "the restart", (db) => db.status.restartedAt === "now" && isReady(db));
    await shop.cluster.delete("Compute", shop.namespace, "db");
    await shop.gone("db");
    const at = `${endpoints}/${status.endpointID}`;
    expect(shop.writes).toEqual([create, `PATCH ${at}`, `POST ${at}/restart`, `DELETE ${at}`]);
    expect(shop.endpoints).toEqual([]);
  });

  it("never gets a blind second POST after a lost reply: a person says which endpoint it is", async () => {
    const shop = await stage().scenario(strict);
    shop.faults({ kind: "drop-after", method: "POST", count: 1 });
    await shop.compute("db", { type: "read_only" });
    const unknown = await shop.until("db", "what it cannot know", (db) => said(db).includes("does not show the names"));
    expect(said(unknown)).toContain(shop.endpoints[0]?.id);
    await shop.lists(12);
    expect(shop.writes).toEqual([create]);
    await shop.edit("db", { adopt: { endpointID: shop.endpoints[0]?.id } });
    await shop.ready("db");
    expect(shop.endpoints).toHaveLength(1);
    expect(shop.writes).toEqual([create]);
  });

  it("takes over an endpoint by its id, and it goes with the Compute", async () => {
    const shop = await stage().scenario(theirs);
    await shop.compute("db", {
      adopt: { endpointID: "ep-theirs" },
      deletionPolicy: "Delete",
      computeUnits: { min: 2, max: 2 },
    });
    expect((await shop.ready("db")).status).toMatchObject({ endpointID: "ep-theirs", size: "2 CU" });
    await remove(shop);
    await shop.gone("db");
    expect(shop.writes).toEqual([`PATCH ${endpoints}/ep-theirs`, `DELETE ${endpoints}/ep-theirs`]);
  });

  it("adopts the branch's primary as it is, and no other without a request", async () => {
    const shop = await stage().scenario(theirs);
    await shop.compute("other");
    const refused = await shop.reason("other", "PrimaryExists");
    expect(conditions(refused)).toEqual(stalled("PrimaryExists"));
    expect(said(refused)).toContain("ep-theirs");
    await shop.compute("db", { adopt: { branchPrimary: true } });
    await shop.ready("db");
    expect(said(await shop.reason("other", "Conflict"))).toContain(`${shop.namespace}/db`);
    expect(shop.writes).toEqual([]);
  });

  it("a Compute that only an annotation links to an endpoint, and a copy of one that made its own, delete nothing", async () => {
    const shop = await stage().scenario(theirs);
    await shop.compute("typed", {}, { annotations: { "compute-operator.dev/endpoint-id": "ep-theirs" } });
    await shop.ready("typed");
    await shop.compute("db", { branchID: preview });
    const { metadata } = await shop.ready("db");
    await shop.compute("copy", { branchID: preview }, { annotations: { ...metadata.annotations } });
    await shop.reason("copy", "Conflict");
    await Promise.all(["typed", "copy"].map((name) => remove(shop, name)));
    await Promise.all(["typed", "copy"].map((name) => shop.gone(name)));
    expect(await shop.event("typed", "Released")).toContain("ep-theirs is kept");
    expect(shop.writes).toEqual([create]);
    expect(shop.endpoints).toHaveLength(2);
  });

  it("moves with one PATCH and keeps its host, also onto a branch that another gives up in the same apply", async () => {
    const shop = await stage().scenario(strict);
    await Promise.all([shop.compute("first", { branchID: main }), shop.compute("second", { branchID: preview })]);
    const [first, second] = await Promise.all([shop.ready("first"), shop.ready("second")]);
    await shop.edit("first", { branchID: preview });
    await shop.edit("second", { branchID: staging });
    const [moved, gave] = await Promise.all([shop.ready("first"), shop.ready("second")]);
    expect([moved.status.branchID, gave.status.branchID]).toEqual([preview, staging]);
    expect([moved.status.host, gave.status.host]).toEqual([first.status.host, second.status.host]);
    expect(shop.writes.filter((write) => write.startsWith("PATCH"))).toHaveLength(2);
  });

  it("a Compute is restarted once per value, and again only where the reply was lost and nothing tells", async () => {
    const shop = await stage().scenario(strict);
    await shop.compute("db");
    const { status } = await shop.ready("db");
    const restart = `POST ${endpoints}/${status.endpointID}/restart`;
    const restarted = (value: string) =>
      shop.until("db", "the restart", (db) => db.status.restartedAt === value && isReady(db));
    await shop.annotate("db", "restartedAt", "monday");
    await restarted("monday");
    await shop.lists(2);
    expect(shop.writes).toEqual([create, restart]);
    shop.faults({ kind: "drop-after", method: "POST", count: 1 });
    await shop.annotate("db", "restartedAt", "tuesday");
    await restarted("tuesday");
    await shop.lists(2);
    expect(shop.writes).toEqual([create, restart, restart, restart]);
  });

  it("a Compute is restarted as asked where it is idle, and where the project is busy", async () => {
    const shop = await stage().scenario({ ...strict, endpoints: [{ id: "ep-theirs", branchID: main }] });
    await shop.compute("db", { adopt: { branchPrimary: true } });
    await shop.reason("db", "Idle");
    shop.faults({ kind: "423", method: "POST" });
    await shop.annotate("db", "restartedAt", "now");
    await shop.reason("db", "ProjectBusy");
    shop.faults();
    await shop.until("db", "the restart", (db) => db.status.restartedAt === "now" && isReady(db));
    const accepted = shop.calls.filter(({ path, status }) => path.endsWith("/restart") && status === 200);
    expect(accepted.length).toBeLessThanOrEqual(1);
  });

  it("a Compute has drift corrected, or with Report reported and left, and sends once what the service does not show", async () => {
    const shop = await stage().scenario(strict);
    await shop.compute("db", { computeUnits: { min: 1, max: 2 }, scaleToZero: { enabled: false } });
    const { status } = await shop.ready("db");
    const at = `${endpoints}/${status.endpointID}`;
    shop.console("PATCH", at, { endpoint: { autoscaling_limit_max_cu: 8 } });
    expect(await shop.event("db", "DriftCorrected")).toContain("computeUnits.max (was 8, now 2)");
    await shop.until("db", "its size", (db) => db.status.size === "1–2 CU" && isReady(db));
    await shop.edit("db", { driftPolicy: "Report" });
    await shop.ready("db");
    shop.clearCalls();
    shop.console("PATCH", at, { endpoint: { autoscaling_limit_max_cu: 8 } });
    const drifted = await shop.reason("db", "Drifted");
    expect(conditions(drifted)).toEqual({ ...settled("Drifted"), Synced: "False" });
    await shop.lists(2);
    expect(shop.writes).toEqual([]);
    await shop.edit("db", { disabled: true });
    await shop.until("db", "the edit", (db) => db.status.disabled === true && isReady(db));
    // With the edit goes along once more what nobody can see.
    expect(shop.writeCalls.filter(({ method }) => method === "PATCH").map(({ body }) => body)).toEqual([
      { endpoint: { disabled: true, suspend_timeout_seconds: -1 } },
    ]);
    expect(shop.endpoint(status.endpointID)).toMatchObject({ autoscaling_limit_max_cu: 8, disabled: true });
  });

  it("a Compute is created again when its endpoint was deleted outside the operator, but not when a whole project seems to be empty", async () => {
    const shop = await stage().scenario(strict);
    await shop.compute("db");
    const before = await shop.ready("db");
    shop.console("DELETE", `${endpoints}/${before.status.endpointID}`);
    await shop.reason("db", "EndpointLost");
    const after = await shop.ready("db");
    expect(after.status.host).not.toBe(before.status.host);
    const empty = shop.addService(strict);
    await shop.editConnection({ baseURL: empty.baseURL });
    await shop.reason("db", "MassLoss");
    expect(empty.host.calls.filter(({ method }) => method !== "GET")).toEqual([]);
    await shop.editConnection({ baseURL: shop.baseURL });
    await shop.ready("db");
    expect(shop.writes).toEqual([create, create]);
  });

  it("keeps its endpoint through a wiped status and kubectl replace, and takes it along when it is deleted", async () => {
    const shop = await stage().scenario(strict);
    await shop.compute("db");
    const { status } = await shop.ready("db");
    const wipe = (object: { status?: Record<string, unknown> }) => {
      object.status = {};
    };
    await shop.cluster.modify("Compute", shop.namespace, "db", wipe, true);
    await shop.until("db", "its status", (db) => db.status.endpointID === status.endpointID && isReady(db));
    await shop.replace("db");
    const back = await shop.until("db", "its finalizer", ({ metadata }) => metadata.finalizers !== undefined);
    expect(back.metadata.annotations).toMatchObject({ "compute-operator.dev/endpoint-id": status.endpointID });
    expect(back.status.proof).toMatchObject({ endpointID: status.endpointID, by: "created" });
    await remove(shop);
    await shop.gone("db");
    expect(shop.endpoints).toEqual([]);
    expect(shop.writes).toEqual([create, `DELETE ${endpoints}/${status.endpointID}`]);
  });
});

describe.concurrent("with such a service a Compute that is deleted", () => {
  it("a deleted Compute without an endpoint deletes nothing; with Retain keeps it; with one already gone ends", async () => {
    const shop = await stage().scenario(theirs);
    await shop.compute("never");
    await shop.reason("never", "PrimaryExists");
    await shop.compute("kept", { branchID: preview, deletionPolicy: "Retain" });
    await shop.compute("lost", { branchID: staging });
    const [kept, lost] = await Promise.all([shop.ready("kept"), shop.ready("lost")]);
    shop.console("DELETE", `${endpoints}/${lost.status.endpointID}`);
    await shop.lists(2);
    const names = ["never", "kept", "lost"];
    await Promise.all(names.map((name) => remove(shop, name)));
    await Promise.all(names.map((name) => shop.gone(name)));
    expect(new Set(shop.endpoints.map(({ id }) => id))).toEqual(new Set([kept.status.endpointID, "ep-theirs"]));
    expect(shop.writes.filter((write) => write.startsWith("DELETE"))).toEqual([]);
  });

  it("a deleted Compute with a pending create reports that the outcome is unknown, and ends when a person names the endpoint", async () => {
    const shop = await stage().scenario(strict);
    shop.faults({ kind: "drop-after", method: "POST", count: 1 });
    await shop.compute("db", { type: "read_only" });
    await shop.until("db", "what it cannot know", (db) => said(db).includes("does not show the names"));
    await remove(shop);
    const waiting = await shop.until("db", "its wait", (db) => db.metadata.deletionTimestamp !== undefined);
    expect(waiting.metadata.finalizers).toEqual(["compute-operator.dev/endpoint"]);
    await shop.lists(3);
    expect(shop.writes).toEqual([create]);
    const [made] = shop.endpoints;
    await shop.edit("db", { adopt: { endpointID: made?.id }, deletionPolicy: "Delete" });
    await shop.gone("db");
    expect(shop.writes).toEqual([create, `DELETE ${endpoints}/${made?.id}`]);
  });

  it("a deleted Compute that is paused, or has a refused key, waits, says so, and goes when that is over", async () => {
    const shop = await stage().scenario(strict);
    await shop.compute("db");
    const { status } = await shop.ready("db");
    await shop.annotate("db", "paused", "true");
    await shop.reason("db", "Paused");
    await remove(shop);
    await shop.until("db", "its wait", (db) => said(db).startsWith("Deletion waits"));
    await shop.setKey("no-key");
    await shop.annotate("db", "paused", undefined);
    const refused = await shop.until("db", "the other wait", (db) => said(db).includes("refused the API key"));
    expect(said(refused)).toContain(status.endpointID);
    await shop.setKey("org-key");
    await shop.gone("db");
    expect(shop.endpoints).toEqual([]);
  });
});
