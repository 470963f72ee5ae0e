import { describe, expect, it } from "vitest";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { eventually } from "../../support/eventually.ts";
import { isReady } from "../../support/is-ready.ts";
import type { Call } from "../support/network.ts";
import { expectPauses } from "../support/pauses.ts";
import { type Scenario } from "../support/scenario.ts";
import { main, preview, project, staging } from "../support/seeded-service.ts";
import { useStage } from "../support/use-stage.ts";
import { conditions, said, stalled } from "./conditions.ts";

const stage = useStage();

const endpoints = `/projects/${project}/endpoints`;
const create = `POST ${endpoints}`;

const isWrite = ({ method }: Call) => method !== "GET";

/** What the service refused is tried again after a minute, and then each time after twice as long. */
const everMoreRarely = { firstMs: 60_000, mostMs: 3_600_000 };

const isSize = ({ status }: Compute, size: string) => status.size === size;

/** Waits for a reason that only a person can help with, and checks all that is the same for every one of them. */
async function isStalled(shop: Scenario, name: string, reason: string): Promise<string> {
  const compute = await shop.reason(name, reason);
  expect(conditions(compute)).toEqual(stalled(reason));
  expect(compute.status.observedGeneration).toBe(compute.metadata.generation);
  expect(await shop.event(name, reason)).toBe(said(compute));
  return said(compute);
}

describe.concurrent("where only a person can help, a Compute shows", () => {
  it("PrimaryExists, which endpoint it is and how to adopt it", async () => {
    const shop = await stage().scenario({ endpoints: [{ id: "ep-theirs", branchID: main }] });
    await shop.compute("db", { computeUnits: { min: 1, max: 2 } });
    const message = await isStalled(shop, "db", "PrimaryExists");
    expect(message).toMatch(
      /already has a primary, which no Compute owns.*\{branchPrimary: true\} or \{endpointID: ep-theirs\}/,
    );
    await shop.lists(2);
    expect(shop.writes).toEqual([]);

    await shop.edit("db", { adopt: { branchPrimary: true } });
    const adopted = await shop.ready("db");
    expect(adopted.status).toMatchObject({ endpointID: "ep-theirs", size: "1–2 CU" });
    expect(await shop.event("db", "Adopted")).toContain("ep-theirs");
    expect(shop.writes).toEqual([`PATCH ${endpoints}/ep-theirs`]);
  });

  it("MovedOutside, from where to where, and moves nothing until the spec says so", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const { endpointID } = (await shop.ready("db")).status;
    const before = shop.writes.length;
    shop.console("PATCH", `${endpoints}/${endpointID}`, { endpoint: { branch_id: preview } });
    const message = await isStalled(shop, "db", "MovedOutside");
    expect(message).toMatch(new RegExp(`moved to branch ${preview} .* the spec says ${main}`));
    await shop.lists(2);
    expect(shop.writes.slice(before)).toEqual([]);
    await shop.edit("db", { branchID: preview });
    await shop.ready("db");
    expect(shop.writes.slice(before)).toEqual([]);
  });

  it("AdoptionRefused, where what adopt names is missing, elsewhere or of another type, and writes nothing to it", async () => {
    const shop = await stage().scenario({
      endpoints: [
        { id: "ep-elsewhere", branchID: preview },
        { id: "ep-replica", branchID: main, type: "read_only" },
      ],
    });
    await shop.compute("missing", { adopt: { endpointID: "ep-missing" }, branchID: staging });
    await shop.compute("elsewhere", { adopt: { endpointID: "ep-elsewhere" } });
    await shop.compute("replica", { adopt: { endpointID: "ep-replica" }, type: "read_only", branchID: preview });
    await shop.compute("kind", { adopt: { endpointID: "ep-replica" }, branchID: "br-other" });
    expect(await isStalled(shop, "missing", "AdoptionRefused")).toMatch(
      /Project shop does not have endpoint ep-.*, which spec.adopt names/,
    );
    expect(await isStalled(shop, "elsewhere", "AdoptionRefused")).toMatch(
      /is on branch br-preview.*spec.branchID is br-main/,
    );
    expect(await isStalled(shop, "replica", "AdoptionRefused")).toContain("is on branch br-main");
    expect(await isStalled(shop, "kind", "AdoptionRefused")).toContain(
      "is of type read_only, and spec.type is read_write",
    );
    expect(shop.writes).toEqual([]);

    await shop.edit("elsewhere", { branchID: preview });
    const adopted = await shop.ready("elsewhere");
    expect(adopted.status.endpointID).toBe("ep-elsewhere");
    await shop.edit("missing", { adopt: undefined });
    await shop.ready("missing");
    expect(shop.writes).toEqual([create]);
  });

  it("AdoptionRefused, where another Compute made what adopt names", async () => {
    const shop = await stage().scenario();
    await shop.compute("first");
    const { status } = await shop.ready("first");
    await shop.compute("second", { adopt: { endpointID: status.endpointID } });
    const message = await isStalled(shop, "second", "AdoptionRefused");
    expect(message).toContain(`Compute ${shop.namespace}/first created endpoint`);
    await shop.edit("second", { adopt: undefined, branchID: preview });
    await shop.ready("second");
    expect(shop.endpoints).toHaveLength(2);
  });

  it("Conflict, who has the branch, and takes over when that one goes", async () => {
    const shop = await stage().scenario();
    await shop.compute("first");
    const first = await shop.ready("first");
    await shop.compute("second");
    const message = await isStalled(shop, "second", "Conflict");
    expect(message).toContain(`Compute ${shop.namespace}/first claims the primary of branch br-main,`);
    await shop.cluster.delete("Compute", shop.namespace, "first");
    const second = await shop.ready("second");
    expect(second.status.endpointID).not.toBe(first.status.endpointID);
    expect(shop.writes).toEqual([create, `DELETE ${endpoints}/${first.status.endpointID}`, create]);
  });

  it("Rejected, what the service said of the plan's limit, until the spec is within it", async () => {
    const shop = await stage().scenario({ plan: "free" });
    await shop.compute("db", { computeUnits: { min: 1, max: 8 } });
    const message = await isStalled(shop, "db", "Rejected");
    expect(message).toMatch(/the free plan ends at 2 CU.*HTTP 422.*Change the spec/);
    await shop.lists(2);
    expectPauses(shop.calls.filter(isWrite), everMoreRarely);
    await shop.edit("db", { computeUnits: { min: 1, max: 2 } });
    await shop.ready("db");
    expect(shop.endpoints).toHaveLength(1);
    expect(shop.writes.every((write) => write === create)).toBe(true);
    expect(shop.calls.filter((call) => isWrite(call) && call.status === 201)).toHaveLength(1);
  });

  it("Rejected, what it accepts and does not keep, and sends it ever more rarely", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const { status } = await shop.ready("db");
    shop.host.instead = ({ method }) => {
      if (method !== "PATCH") return undefined;
      // Accepted, answered as it is, and nothing is changed.
      return shop.service.call({
        method: "GET",
        path: `/api/v2${endpoints}/${status.endpointID}`,
        headers: { authorization: "Bearer org-key" },
      });
    };
    await shop.edit("db", { computeUnits: { min: 2, max: 2 } });
    const message = await isStalled(shop, "db", "Rejected");
    expect(message).toMatch(
      /did not keep it: computeUnits\.min \(ours 2, theirs 1\), computeUnits\.max \(ours 2, theirs 1\)/,
    );
    await shop.lists(3);
    const [made, ...patches] = shop.calls.filter(isWrite);
    expect(made?.method).toBe("POST");
    expect(patches.every(({ method }) => method === "PATCH")).toBe(true);
    expectPauses(patches, everMoreRarely);
    shop.host.instead = undefined;
    await shop.edit("db", { computeUnits: { min: 4, max: 4 } });
    expect((await shop.ready("db")).status.size).toBe("4 CU");
  });

  it("Rejected, where somebody else keeps setting it back, instead of a tug-of-war", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { computeUnits: { min: 1, max: 2 } });
    const { status } = await shop.ready("db");
    const patch = `PATCH ${endpoints}/${status.endpointID}`;
    const patches = () => shop.writes.filter((write) => write === patch);
    const isRejected = (db: Compute) => db.status.conditions?.[0]?.reason === "Rejected";
    for (let rounds = 0; rounds < 10; rounds++) {
      const back = await shop.until("db", "its size", (db) => isRejected(db) || (isReady(db) && isSize(db, "1–2 CU")));
      if (isRejected(back)) break;
      // A list has to show the correction before it is undone: else the service has not kept it.
      await shop.lists(2);
      const sent = patches().length;
      shop.console("PATCH", `${endpoints}/${status.endpointID}`, { endpoint: { autoscaling_limit_max_cu: 4 } });
      await eventually(
        "the correction",
        () => patches().length > sent || isRejected(shop.history("db").at(-1) ?? back) || undefined,
      );
    }
    const message = await isStalled(shop, "db", "Rejected");
    expect(await shop.event("db", "DriftCorrected")).toContain("computeUnits.max (was 4, now 2)");
    expect(message).toContain("Something outside the operator keeps changing computeUnits.max (ours 2, theirs 4)");
    expect(patches().length).toBeLessThanOrEqual(5);
    await shop.edit("db", { computeUnits: { min: 1, max: 3 } });
    expect((await shop.ready("db")).status.size).toBe("1–3 CU");
  });

  it("MassLoss, where an edited base URL leads to an empty service, and makes nothing there", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const before = await shop.ready("db");
    const empty = shop.addService({});
    await shop.editConnection({ baseURL: empty.baseURL });
    const message = await isStalled(shop, "db", "MassLoss");
    expect(message).toMatch(/was last seen with others.*confirmLoss/);
    await eventually("a few lists", () => (empty.host.calls.length > 4 ? true : undefined));
    expect(empty.host.calls.filter(({ method }) => method !== "GET")).toEqual([]);
    await shop.editConnection({ baseURL: shop.baseURL });
    const after = await shop.ready("db");
    expect(after.status.endpointID).toBe(before.status.endpointID);
    expect(shop.writes).toEqual([create]);
  });

  it("MassLoss, where most of a project is gone at once, until a person says that it is true", async () => {
    const shop = await stage().scenario();
    const names = ["a", "b", "c", "d", "e"];
    await Promise.all(names.map((name) => shop.compute(name, { type: "read_only" })));
    await Promise.all(names.map((name) => shop.ready(name)));
    // Only endpoints that a list has shown count as lost.
    await shop.lists(1);
    for (const { id } of shop.endpoints) shop.console("DELETE", `${endpoints}/${id}`);
    shop.clearCalls();
    for (const name of names) {
      // Each one tells, and names its own endpoint.
      const message = await isStalled(shop, name, "MassLoss");
      expect(message).toContain(shop.history(name).at(-1)?.status.endpointID);
    }
    await shop.lists(4);
    expect(shop.writes).toEqual([]);
    await Promise.all(names.map((name) => shop.annotate(name, "confirmLoss", "it is true")));
    await Promise.all(
      names.map((name) => shop.until(name, "rest", (db) => db.status.state === "Active" && isReady(db))),
    );
    expect(shop.endpoints).toHaveLength(5);
    expect(shop.writes.filter((write) => write.startsWith("POST"))).toHaveLength(5);
  });
});
