import { expect, it } from "vitest";
import { calm } from "../simulation/api-server/faults.ts";
import { said } from "./conditions/conditions.ts";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a" };
const busy = { status: 503, headers: {}, body: JSON.stringify({ code: "", message: "down" }) };
const reason = (world: SmallWorld, i: number) => world.compute(i).status.conditions?.[0]?.reason;

it("2 fresh look rebuilds the secret", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  world.declare(0, { ...place, connectionSecret: { name: "shop-db", database: "neondb", role: "neondb_owner" } });
  await world.settle(1);
  await world.clock.advance(60_000);
  const asked = () =>
    world.host.calls.filter(({ path, status }) => path.includes("connection_uri") && status === 200).length;
  const before = asked();
  world.host.instead = ({ path }) => (path.includes("connection_uri") ? busy : undefined);
  world.annotate(0, "reconcileRequestedAt", "now");
  await world.clock.advance(30_000);
  console.log("2", reason(world, 0), world.compute(0).status.lastHandledReconcileAt);
  world.host.instead = undefined;
  await world.clock.advance(120_000);
  console.log("2", reason(world, 0), world.compute(0).status.lastHandledReconcileAt, asked() - before);
  expect(asked()).toBeGreaterThan(before);
});

it("4 mass loss is remembered over a blip", async () => {
  const branches = Array.from({ length: 7 }, (_, i) => `br-${i}-a`);
  await using world = new SmallWorld(branches, 1);
  for (const [i, branchID] of branches.entries()) world.declare(i, { projectID: "shop", branchID });
  await world.settle(7);
  await world.clock.advance(60_000);
  for (const i of [0, 1, 2, 3])
    world.console("DELETE", `/projects/shop/endpoints/${world.compute(i).status.endpointID}`);
  await world.clock.advance(60_000);
  console.log(
    "4",
    [0, 1, 2, 3].map((i) => reason(world, i)),
  );
  world.remove(0);
  world.edit(0, { deletionPolicy: "Retain" });
  await world.clock.advance(60_000);
  console.log(
    "4 gone",
    world.isGone(0),
    [1, 2, 3].map((i) => reason(world, i)),
  );
  const writes = world.writes.length;
  world.host.instead = ({ path }) => (path.endsWith("/endpoints") ? busy : undefined);
  await world.clock.advance(90_000);
  console.log(
    "4 blip",
    [1, 2, 3].map((i) => reason(world, i)),
  );
  world.host.instead = undefined;
  await world.clock.advance(120_000);
  console.log(
    "4 after",
    [1, 2, 3].map((i) => reason(world, i)),
  );
  expect(world.writes.slice(writes)).toEqual([]);
});

it("4b mass loss is remembered over a pause", async () => {
  const branches = Array.from({ length: 7 }, (_, i) => `br-${i}-a`);
  await using world = new SmallWorld(branches, 1);
  for (const [i, branchID] of branches.entries()) world.declare(i, { projectID: "shop", branchID });
  await world.settle(7);
  await world.clock.advance(60_000);
  for (const i of [0, 1, 2, 3])
    world.console("DELETE", `/projects/shop/endpoints/${world.compute(i).status.endpointID}`);
  await world.clock.advance(60_000);
  world.annotate(1, "paused", "true");
  await world.clock.advance(60_000);
  world.annotate(0, "reconcileRequestedAt", "now");
  await world.clock.advance(60_000);
  console.log(
    "4b",
    [0, 1, 2, 3].map((i) => reason(world, i)),
  );
  const writes = world.writes.length;
  world.annotate(1, "paused", undefined);
  await world.clock.advance(120_000);
  console.log(
    "4b after",
    [0, 1, 2, 3].map((i) => reason(world, i)),
  );
  expect(world.writes.slice(writes)).toEqual([]);
});

it("5 no false mass loss", async () => {
  let lost = 0;
  const weather = {
    ...calm,
    request: (request: Parameters<typeof calm.request>[0]) =>
      request.method === "PATCH" && JSON.stringify(request.body).includes("endpoint-id") && lost++ === 0
        ? ({ kind: "lost", arriveMs: 0, afterMs: 100 } as const)
        : calm.request(request),
  };
  await using world = new SmallWorld([place.branchID], 1, {}, weather);
  let until = Infinity;
  world.host.instead = ({ method, path }) => {
    if (method === "POST") until = world.clock.now() + 6000;
    if (method === "GET" && path.endsWith("/endpoints") && until !== Infinity && world.clock.now() < until)
      return { status: 200, headers: {}, body: JSON.stringify({ endpoints: [] }) };
    return undefined;
  };
  world.declare(0, place);
  await world.clock.advance(60_000);
  console.log("5", lost, reason(world, 0), world.events("MassLoss"));
  expect(world.events("MassLoss")).toEqual([]);
});

it("6 watch slower than 5 s", async () => {
  const slow = {
    ...calm,
    line: (path: string) => ({ kind: "delivered" as const, delayMs: path.includes("/computes") ? 20_000 : 0 }),
  };
  await using world = new SmallWorld([place.branchID, "br-0-b"], 1, { strictSpec: true }, slow);
  world.declare(0, { ...place, scaleToZero: { enabled: true, after: "5m" } });
  await world.clock.advance(120_000);
  world.edit(0, { scaleToZero: { enabled: true, after: "10m" } });
  await world.clock.advance(120_000);
  world.annotate(0, "restartedAt", "now");
  await world.clock.advance(120_000);
  console.log(
    "6",
    world.writes,
    ["Created", "Patched", "Restarted"].map((one) => world.timesTold(one)),
  );
  expect(world.writes).toHaveLength(3);
  expect(["Created", "Patched", "Restarted"].map((one) => world.timesTold(one))).toEqual([1, 1, 1]);
});

it("7 paused copy", async () => {
  await using world = new SmallWorld(["br-0-a", "br-1-a"], 1);
  world.declare(0, place);
  await world.settle(1);
  world.declare(1, { ...place, branchID: "br-1-a" });
  world.annotate(1, "endpoint-id", world.compute(0).status.endpointID);
  await world.clock.advance(60_000);
  console.log("7", reason(world, 1), world.compute(1).status.host);
  world.annotate(1, "paused", "true");
  await world.clock.advance(60_000);
  console.log("7", reason(world, 1), world.compute(1).status.host, said(world.compute(1)));
  expect(world.compute(1).status.host).toBeUndefined();
});

it("9 report and a failing binding", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  world.declare(0, { ...place, driftPolicy: "Report", computeUnits: { min: 1, max: 1 } });
  await world.settle(1);
  await world.clock.advance(60_000);
  world.edit(0, { connectionSecret: { name: "shop-db", database: "nowhere", role: "nobody" } });
  await world.clock.advance(60_000);
  console.log("9", reason(world, 0), said(world.compute(0)), world.compute(0).status.appliedGeneration);
  const writes = world.writes.length;
  world.console("PATCH", `/projects/shop/endpoints/${world.compute(0).status.endpointID}`, {
    endpoint: { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 },
  });
  await world.clock.advance(120_000);
  console.log("9", reason(world, 0), said(world.compute(0)), world.writes.slice(writes));
  expect(world.writes.slice(writes)).toEqual([]);
});
