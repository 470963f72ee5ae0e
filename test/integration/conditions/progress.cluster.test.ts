import { describe, expect, it } from "vitest";
import { HeldClock } from "../support/held-clock.ts";
import { main, preview, project } from "../support/seeded-service.ts";
import { useStage } from "../support/use-stage.ts";
import { conditions, inProgress, reasonsIn, said, sameSpec, showing } from "./conditions.ts";

const stage = useStage();

const endpoints = `/projects/${project}/endpoints`;

describe.concurrent("while what the operator began is in progress, a Compute shows", () => {
  it("Creating", async () => {
    const clock = new HeldClock();
    const shop = await stage().scenario({ clock });
    clock.hold();
    await shop.compute("db");
    await shop.reason("db", "Creating");
    clock.release();
    await shop.ready("db");
    const creating = showing(shop.history("db"), "Creating");
    expect(conditions(creating)).toEqual(inProgress("Creating"));
    expect(creating.status).toMatchObject({ state: "Creating", pendingWrite: { operation: "create", n: 1 } });
    expect(said(creating)).toBe(`The endpoint is being created on branch ${creating.spec.branchID}.`);
    expect(await shop.event("db", "Created")).toContain(shop.endpoints[0]?.id);
    expect(reasonsIn(shop.history("db"))).toEqual(["Creating", "Active"]);
    expect(shop.writes).toEqual([`POST ${endpoints}`]);
  });

  it("Updating, for a change of size", async () => {
    const clock = new HeldClock();
    const shop = await stage().scenario({ clock });
    await shop.compute("db", { computeUnits: { min: 1, max: 1 } });
    const { status } = await shop.ready("db");
    clock.hold();
    await shop.edit("db", { computeUnits: { min: 1, max: 4 } });
    const updating = await shop.reason("db", "Updating");
    expect(conditions(updating)).toEqual(inProgress("Updating"));
    expect(updating.status).toMatchObject({ state: "Updating", observedGeneration: 2 });
    expect(said(updating)).toMatch(
      `The service accepted a change and is applying it to endpoint ${status.endpointID}.`,
    );
    clock.release();
    const after = await shop.ready("db");
    expect(after.status).toMatchObject({ size: "1–4 CU", appliedGeneration: 2, host: status.host });
    expect(await shop.event("db", "Patched")).toContain("computeUnits.max");
    expect(shop.writes).toEqual([`POST ${endpoints}`, `PATCH ${endpoints}/${status.endpointID}`]);
    expect(shop.calls.find(({ method }) => method === "PATCH")?.body).toEqual({
      endpoint: { autoscaling_limit_max_cu: 4 },
    });
  });

  it("Moving, to another branch with the same host", async () => {
    const clock = new HeldClock();
    const shop = await stage().scenario({ clock });
    await shop.compute("db");
    const { status } = await shop.ready("db");
    clock.hold();
    await shop.edit("db", { branchID: preview });
    const moving = await shop.reason("db", "Moving");
    expect(conditions(moving)).toEqual(inProgress("Moving"));
    expect(moving.status.state).toBe("Moving");
    expect(said(moving)).toBe(`The service is moving endpoint ${status.endpointID} to another branch.`);
    clock.release();
    const after = await shop.ready("db");
    expect(after.status).toMatchObject({ branchID: preview, host: status.host });
    expect(await shop.event("db", "Moved")).toContain(preview);
    expect(shop.endpoints).toHaveLength(1);
    expect(shop.writes).toEqual([`POST ${endpoints}`, `PATCH ${endpoints}/${status.endpointID}`]);
  });

  it("Restarting, once per new value of the annotation", async () => {
    const clock = new HeldClock();
    const shop = await stage().scenario({ clock });
    await shop.compute("db", {}, { annotations: { "compute-operator.dev/restartedAt": "before" } });
    const { status } = await shop.ready("db");
    expect(status.restartedAt).toBe("before");
    clock.hold();
    await shop.annotate("db", "restartedAt", "today");
    const restarting = await shop.reason("db", "Restarting");
    expect(conditions(restarting)).toEqual(sameSpec("Restarting"));
    expect(restarting.status.state).toBe("Restarting");
    expect(said(restarting)).toBe(`The service is restarting endpoint ${status.endpointID}.`);
    clock.release();
    await shop.ready("db");
    const after = await shop.until("db", "the restart", (db) => db.status.restartedAt === "today");
    expect(await shop.event("db", "Restarted")).toContain(status.endpointID);
    await shop.annotate("db", "restartedAt", undefined);
    await shop.lists(2);
    expect(after.status.endpointID).toBe(status.endpointID);
    expect(shop.writes).toEqual([`POST ${endpoints}`, `POST ${endpoints}/${status.endpointID}/restart`]);
  });

  it("Starting, where it was paused in the middle of a restart", async () => {
    const clock = new HeldClock();
    const shop = await stage().scenario({ clock });
    await shop.compute("db");
    const { status } = await shop.ready("db");
    clock.hold();
    await shop.annotate("db", "restartedAt", "today");
    await shop.reason("db", "Restarting");
    await shop.annotate("db", "paused", "true");
    await shop.reason("db", "Paused");
    // A suspension takes 25 ms at the most, and a start 40 ms more at the least.
    clock.advance(30);
    await shop.until("db", "the suspension's end", (db) =>
      (db.status.operations ?? []).some(({ action, status: is }) => action === "suspend_compute" && is === "finished"),
    );
    await shop.annotate("db", "paused", undefined);
    const starting = await shop.reason("db", "Starting");
    expect(conditions(starting)).toEqual(sameSpec("Starting"));
    expect(said(starting)).toBe(`The service is starting endpoint ${status.endpointID}.`);
    clock.release();
    await shop.ready("db");
    expect(shop.writes).toEqual([`POST ${endpoints}`, `POST ${endpoints}/${status.endpointID}/restart`]);
  });

  it("Deleting, until the endpoint is proved to be gone", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const { status } = await shop.ready("db");
    await shop.cluster.delete("Compute", shop.namespace, "db");
    await shop.gone("db");
    const deleting = showing(shop.history("db"), "Deleting");
    expect(conditions(deleting)).toEqual(inProgress("Deleting"));
    expect(deleting.status.state).toBe("Deleting");
    expect(said(deleting)).toMatch(
      `Endpoint ${status.endpointID} was deleted. The Compute is removed once the deletion is confirmed`,
    );
    expect(await shop.event("db", "Deleting")).toBe(said(deleting));
    expect(await shop.event("db", "Deleted")).toContain(status.endpointID);
    expect(shop.endpoints).toEqual([]);
    expect(shop.writes).toEqual([`POST ${endpoints}`, `DELETE ${endpoints}/${status.endpointID}`]);
    await shop.compute("db", { branchID: main });
    const again = await shop.ready("db");
    expect(again.status.host).not.toBe(status.host);
  });

  it("OperationFailed, with action, id and failures, until it is made good", async () => {
    const shop = await stage().scenario();
    shop.faults({ kind: "fail-operations", method: "POST", count: 1 });
    await shop.compute("db");
    const failed = await shop.reason("db", "OperationFailed");
    expect(conditions(failed)).toEqual(inProgress("OperationFailed"));
    expect(failed.status.operations).toMatchObject([{ action: "start_compute", status: "failed", failuresCount: 1 }]);
    expect(said(failed)).toMatch(
      new RegExp(`start_compute .*failed attempts: 1.* ${failed.status.operations?.[0]?.id}\\.$`),
    );
    expect(await shop.event("db", "OperationFailed")).toBe(said(failed));
    await shop.lists(2);
    expect(shop.writes).toHaveLength(1);

    await shop.annotate("db", "restartedAt", "again");
    const back = await shop.ready("db");
    expect(back.status).toMatchObject({ state: "Active", endpointID: failed.status.endpointID });
    expect(shop.writes).toHaveLength(2);
  });
});
