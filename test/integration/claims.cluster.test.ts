import { describe, expect, it } from "vitest";
import { isReady } from "../support/is-ready.ts";
import { conditions, inProgress, said, stalled } from "./conditions/conditions.ts";
import { main, memberKey, preview, project, staging } from "./support/seeded-service.ts";
import { useStage } from "./support/use-stage.ts";

const stage = useStage();

const endpoints = `/projects/${project}/endpoints`;
const create = `POST ${endpoints}`;

describe.concurrent("one owner at all times", () => {
  it("the older of two Computes in different namespaces that want one branch owns it; the other reports who", async () => {
    const shop = await stage().scenario();
    const elsewhere = await shop.addNamespace();
    // They reach the one project with keys of different users.
    await shop.setKey(memberKey, elsewhere);
    await shop.compute("db");
    const first = await shop.ready("db");
    await shop.computeIn(elsewhere, "db", {});
    const second = await shop.reason("db", "Conflict", elsewhere);
    expect(conditions(second)).toEqual(stalled("Conflict"));
    expect(said(second)).toContain(`Compute ${shop.namespace}/db`);
    await shop.edit("db", { branchID: preview });
    const after = await shop.ready("db", elsewhere);
    expect(after.status.endpointID).not.toBe(first.status.endpointID);
    expect(shop.endpoints).toHaveLength(2);
  });

  it("the older of two Computes that adopt one endpoint owns it, and the loser deletes nothing", async () => {
    const shop = await stage().scenario({ endpoints: [{ id: "ep-theirs", branchID: main }] });
    await shop.compute("first", { adopt: { endpointID: "ep-theirs" } });
    await shop.ready("first");
    await shop.compute("second", { adopt: { endpointID: "ep-theirs" } });
    await shop.reason("second", "Conflict");
    await shop.cluster.delete("Compute", shop.namespace, "second");
    await shop.gone("second");
    expect(shop.endpoints.map(({ id }) => id)).toEqual(["ep-theirs"]);
    expect(shop.writes).toEqual([]);
  });
});

describe.concurrent("a move", () => {
  it("a move onto a branch that another gives up in the same apply settles, whatever the order", async () => {
    const shop = await stage().scenario();
    await shop.compute("first", { branchID: main });
    await shop.compute("second", { branchID: preview });
    const [first, second] = await Promise.all([shop.ready("first"), shop.ready("second")]);
    await shop.edit("first", { branchID: preview });
    const waiting = await shop.until(
      "first",
      "its wait or its end",
      (one) => one.status.branchID === preview || said(one) !== "",
    );
    expect(isReady(waiting)).toBe(false);
    await shop.edit("second", { branchID: staging });
    const [moved, gave] = await Promise.all([shop.ready("first"), shop.ready("second")]);
    expect([moved.status.branchID, gave.status.branchID]).toEqual([preview, staging]);
    expect([moved.status.host, gave.status.host]).toEqual([first.status.host, second.status.host]);
    expect(shop.writes.filter((write) => write.startsWith("PATCH"))).toHaveLength(2);
  });

  it("two Computes that swap branches are a Conflict, since no order is legal, and nothing is sent", async () => {
    const shop = await stage().scenario();
    await shop.compute("first", { branchID: main });
    await shop.compute("second", { branchID: preview });
    await Promise.all([shop.ready("first"), shop.ready("second")]);
    await Promise.all([shop.edit("first", { branchID: preview }), shop.edit("second", { branchID: main })]);
    const swap = (name: string) =>
      shop.until(name, "the swap", (one) => said(one).includes("want each other's branch"));
    for (const one of await Promise.all([swap("first"), swap("second")])) {
      expect(conditions(one)).toEqual(stalled("Conflict"));
      // The Compute that was edited first reported who has the branch, before the other wanted its own.
      const other = one.metadata.name === "first" ? "second" : "first";
      expect(await shop.event(one.metadata.name, "Conflict")).toContain(`Compute ${shop.namespace}/${other}`);
    }
    expect(shop.writes).toEqual([create, create]);
    await shop.edit("first", { branchID: staging });
    await Promise.all([shop.ready("first"), shop.ready("second")]);
    await shop.edit("first", { branchID: preview });
    await shop.ready("first");
    expect(shop.endpoints.map(({ branch_id }) => branch_id).toSorted()).toEqual([main, preview]);
  });
});

describe.concurrent("a restart", () => {
  it("a restart of a compute that is idle is carried out once", async () => {
    const shop = await stage().scenario({ endpoints: [{ id: "ep-theirs", branchID: main }] });
    await shop.compute("db", { adopt: { branchPrimary: true } });
    await shop.reason("db", "Idle");
    await shop.annotate("db", "restartedAt", "now");
    await shop.until("db", "the restart", (db) => db.status.restartedAt === "now" && isReady(db));
    await shop.lists(2);
    expect(shop.writes).toEqual([`POST ${endpoints}/ep-theirs/restart`]);
  });

  it("a restart while the project is busy waits, and is carried out once", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    await shop.ready("db");
    shop.faults({ kind: "423", method: "POST" });
    await shop.annotate("db", "restartedAt", "now");
    const busy = await shop.reason("db", "ProjectBusy");
    expect(conditions(busy)).toEqual(inProgress("ProjectBusy"));
    shop.faults();
    await shop.until("db", "the restart", (db) => db.status.restartedAt === "now" && isReady(db));
    const accepted = shop.calls.filter(({ path, status }) => path.endsWith("/restart") && status === 200);
    expect(accepted).toHaveLength(1);
  });

  it("a lost reply to a restart does not have it sent again where the service shows it", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const { status } = await shop.ready("db");
    shop.faults({ kind: "drop-after", method: "POST", count: 1 });
    await shop.annotate("db", "restartedAt", "now");
    await shop.until("db", "the restart", (db) => db.status.restartedAt === "now" && isReady(db));
    expect(shop.writes).toEqual([create, `POST ${endpoints}/${status.endpointID}/restart`]);
  });
});
