import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { isReady } from "../support/is-ready.ts";
import { said } from "./conditions/conditions.ts";
import { main, preview, project } from "./support/seeded-service.ts";
import { useStage } from "./support/use-stage.ts";

// One after the other, since a restart of the operator concerns all that is on the stage().

const stage = useStage();

const endpoints = `/projects/${project}/endpoints`;
const create = `POST ${endpoints}`;

it("the owner of a branch that two want stays the same across a restart of the operator, and the loser comes next", async () => {
  const shop = await stage().scenario();
  const elsewhere = await shop.addNamespace();
  await shop.compute("db");
  const owner = await shop.ready("db");
  await shop.computeIn(elsewhere, "db", {});
  await shop.reason("db", "Conflict", elsewhere);
  await stage().restartOperator();
  await shop.lists(2);
  expect(shop.history("db").at(-1)?.status).toMatchObject({ state: "Active", endpointID: owner.status.endpointID });
  const loser = shop.history("db", elsewhere).at(-1);
  expect(loser && said(loser)).toContain(`Compute ${shop.namespace}/db`);
  expect(shop.writes).toEqual([create]);

  await shop.cluster.delete("Compute", shop.namespace, "db");
  await stage().restartOperator();
  await shop.gone("db");
  const next = await shop.ready("db", elsewhere);
  expect(shop.endpoints.map(({ id }) => id)).toEqual([next.status.endpointID]);
  expect(shop.writes).toEqual([create, `DELETE ${endpoints}/${owner.status.endpointID}`, create]);
});

it("the owner of an endpoint that two adopt stays the same, though the other is older to the new operator's eyes", async () => {
  const shop = await stage().scenario({ endpoints: [{ id: "ep-theirs", branchID: main }] });
  // The older one names the endpoint in vain at first: it is on another branch.
  await shop.compute("older", { branchID: preview, adopt: { endpointID: "ep-theirs" } });
  await shop.reason("older", "AdoptionRefused");
  await shop.compute("younger", { adopt: { endpointID: "ep-theirs" } });
  await shop.ready("younger");
  await stage().stopOperator();
  await shop.edit("older", { branchID: main });
  stage().startOperator();
  const refused = await shop.reason("older", "Conflict");
  expect(said(refused)).toContain(`Compute ${shop.namespace}/younger`);
  await shop.lists(2);
  expect(shop.history("younger").at(-1)?.status.endpointID).toBe("ep-theirs");
  await shop.cluster.delete("Compute", shop.namespace, "older");
  await shop.gone("older");
  expect(shop.writes).toEqual([]);
});

it("a restart that is asked for while no operator runs is carried out once, and not again by the next", async () => {
  const shop = await stage().scenario();
  await shop.compute("db");
  const { status } = await shop.ready("db");
  await stage().stopOperator();
  await shop.annotate("db", "restartedAt", "now");
  stage().startOperator();
  await shop.until("db", "the restart", (db) => db.status.restartedAt === "now" && isReady(db));
  await stage().restartOperator();
  await shop.lists(2);
  expect(shop.writes).toEqual([create, `POST ${endpoints}/${status.endpointID}/restart`]);
});

it("a restart whose reply was lost together with the operator shows in the start time, and is not sent again", async () => {
  const shop = await stage().scenario();
  await shop.compute("db");
  const { status } = await shop.ready("db");
  const restart = `POST ${endpoints}/${status.endpointID}/restart`;
  shop.faults({ kind: "drop-after", method: "POST", count: 1 }, { kind: "503", method: "GET", route: endpoints });
  await shop.annotate("db", "restartedAt", "now");
  await shop.until("db", "the record", (db) => db.status.pendingWrite?.operation === "restart");
  await shop.until("db", "the request", () => shop.writes.length === 2);
  await stage().stopOperator();
  expect(shop.writes).toEqual([create, restart]);
  shop.faults();
  stage().startOperator();
  const after = await shop.until("db", "the restart", (db) => db.status.restartedAt === "now" && isReady(db));
  expect(after.status.pendingWrite).toBeUndefined();
  expect(shop.writes).toEqual([create, restart]);
});

it("a restart while the project is busy is carried out once, by whichever operator gets to it", async () => {
  const shop = await stage().scenario();
  await shop.compute("db");
  const { status } = await shop.ready("db");
  shop.faults({ kind: "423", method: "POST" });
  await shop.annotate("db", "restartedAt", "now");
  await shop.reason("db", "ProjectBusy");
  await stage().restartOperator();
  shop.faults();
  await shop.until("db", "the restart", (db) => db.status.restartedAt === "now" && isReady(db));
  const restarts = shop.calls.filter(({ path }) => path === `${endpoints}/${status.endpointID}/restart`);
  expect(restarts.filter((call) => call.status === 200)).toHaveLength(1);
  expect(restarts.filter((call) => call.status !== 200 && call.status !== 423)).toEqual([]);
});

it("a create whose reply was lost together with the operator is found by its signature, and not sent again", async () => {
  const shop = await stage().scenario();
  shop.faults({ kind: "drop-after", method: "POST", count: 1 });
  await shop.compute("db", { type: "read_only" });
  await shop.until("db", "the record", (db) => db.status.pendingWrite?.operation === "create");
  await shop.until("db", "its outcome", (db) => db.status.conditions?.[0]?.reason === "CreateUnknown");
  await stage().restartOperator();
  const ready = await shop.until("db", "its end", (db) => isReady(db) && db.status.pendingWrite === undefined);
  expect(shop.endpoints.map(({ id }) => id)).toEqual([ready.status.endpointID]);
  expect(shop.writes).toEqual([create]);
});

it("a changed template restarts the members of a pool one after another, also across a restart of the operator", async () => {
  const shop = await stage().scenario({ service: { projectLock: false, timeScale: 5 } });
  const pool = (size: number) => ({
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ComputePool",
    metadata: { name: "readers" },
    spec: { replicas: 4, template: { projectID: project, branchID: main, computeUnits: { min: size, max: size } } },
  });
  await shop.cluster.create("ComputePool", shop.namespace, pool(1));
  const names = [0, 1, 2, 3].map((index) => `readers-${index}`);
  await Promise.all(names.map((name) => shop.ready(name)));
  const changing: number[] = [];
  shop.host.instead = ({ method, path }) => {
    const others = shop.endpoints.filter(({ id, pending_state }) => pending_state !== undefined && !path.includes(id));
    if (method === "PATCH") changing.push(others.length + 1);
    return undefined;
  };
  await shop.cluster.modify("ComputePool", shop.namespace, "readers", (object) => {
    object.spec = pool(2).spec;
  });
  await eventually("the second of them to change", () => (changing.length >= 2 ? true : undefined));
  await stage().restartOperator();
  await Promise.all(
    names.map((name) => shop.until(name, "its size", (one) => one.status.size === "2 CU" && isReady(one))),
  );
  expect(changing).toEqual([1, 1, 1, 1]);
});
