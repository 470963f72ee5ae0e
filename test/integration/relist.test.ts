import { expect, it } from "vitest";
import type { ClusterRequest } from "../../src/operator/kube/transport.ts";
import { asRecord } from "../../src/operator/objects/record.ts";
import { type ClusterWeather, calm } from "../simulation/api-server/faults.ts";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a", type: "read_write", scaleToZero: { enabled: false } } as const;
const computes = "/computes";

/** What becomes of lists and watches of Computes; everything else is calm. */
class ComputesWeather {
  cutsWatch = false;
  refusesWatch = false;
  listReplyMs = 0;

  readonly weather: ClusterWeather = {
    ...calm,
    line: (path) => (this.cutsWatch && path.endsWith(computes) ? { kind: "cut" } : { kind: "delivered", delayMs: 0 }),
    watchOpens: (path) => ({ kind: this.refusesWatch && path.endsWith(computes) ? "refused" : "opened" }),
    request: (request) => ({ kind: "answered", arriveMs: 0, replyMs: isList(request) ? this.listReplyMs : 0 }),
  };
}

function isList({ method, path }: ClusterRequest): boolean {
  return method === "GET" && path.endsWith(computes);
}

/** The smallest size in each change that was sent to the service. */
function sizesSent(world: SmallWorld): unknown[] {
  const sent = world.host.calls.filter(({ method }) => method === "PATCH");
  return sent.map(({ body }) => asRecord(asRecord(body)["endpoint"])["autoscaling_limit_min_cu"]);
}

it("a relist that began before our own writes and ends after them undoes none of them", async () => {
  const sky = new ComputesWeather();
  await using world = new SmallWorld([place.branchID], 1, {}, sky.weather);
  world.declare(0, { ...place, computeUnits: { min: 1, max: 1 } });
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections/default";
  const connection = world.send("GET", path);
  world.send("PUT", path, { ...connection, spec: { ...connection.spec, refreshInterval: "5s" } });
  await world.settle(1);
  await world.clock.advance(60_000);
  const id = world.compute(0).status.endpointID;

  // The watch breaks, its history is gone, and the list that follows is 25 s on its way back.
  sky.cutsWatch = true;
  sky.listReplyMs = 25_000;
  world.annotate(0, "note", "a line that is cut");
  world.server.store.compact();
  sky.cutsWatch = false;
  await world.clock.advance(1000);
  // Somebody resizes the endpoint, so that a reconcile has something to write; then a person edits the spec.
  const console = { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 };
  world.console("PATCH", `/projects/shop/endpoints/${id}`, { endpoint: console });
  sky.refusesWatch = true;
  await world.clock.advance(2000);
  world.edit(0, { computeUnits: { min: 4, max: 4 } });
  await world.clock.advance(60_000);
  sky.refusesWatch = false;
  await world.clock.advance(60_000);

  expect(sizesSent(world)).toEqual([1, 4]);
  expect(world.events("DriftCorrected")).toEqual([
    expect.stringContaining("computeUnits.min (was 2, now 1), computeUnits.max (was 2, now 1)"),
  ]);
  expect(world.endpoint(id)).toMatchObject({ autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 });
  expect(world.compute(0).status).toMatchObject({ appliedGeneration: 2, size: "4 CU" });
});

it("a relist leads to no action before the service was listed again", async () => {
  const sky = new ComputesWeather();
  await using world = new SmallWorld([place.branchID], 1, {}, sky.weather);
  world.declare(0, { ...place, computeUnits: { min: 1, max: 1 } });
  await world.settle(1);
  await world.clock.advance(60_000);
  sky.cutsWatch = true;
  world.edit(0, { computeUnits: { min: 4, max: 4 } });
  world.server.store.compact();
  sky.cutsWatch = false;
  const before = world.host.calls.length;
  while (sizesSent(world).length === 0) await world.clock.advance(10);
  const since = world.host.calls.slice(before).map(({ method, path }) => `${method} ${path}`);
  const at = `/projects/shop/endpoints/${world.compute(0).status.endpointID}`;
  expect(since.slice(0, since.indexOf(`PATCH ${at}`))).toContain("GET /projects/shop/endpoints");
});

it("an answer that comes long after its watch event changes nothing, and nothing is sent twice", async () => {
  const slow: ClusterWeather = {
    ...calm,
    request: ({ method }) => ({ kind: "answered", arriveMs: 0, replyMs: method === "PATCH" ? 4000 : 0 }),
  };
  await using world = new SmallWorld([place.branchID], 1, {}, slow);
  world.declare(0, { ...place, computeUnits: { min: 1, max: 1 } });
  await world.clock.advance(60_000);
  world.edit(0, { computeUnits: { min: 2, max: 2 } });
  await world.clock.advance(1000);
  world.edit(0, { computeUnits: { min: 4, max: 4 } });
  world.annotate(0, "restartedAt", "now");
  await world.clock.advance(120_000);
  const at = `/projects/shop/endpoints/${world.compute(0).status.endpointID}`;
  expect(sizesSent(world)).toEqual([2, 4]);
  expect(world.writes).toEqual(["POST /projects/shop/endpoints", `PATCH ${at}`, `PATCH ${at}`, `POST ${at}/restart`]);
  expect(world.compute(0).status).toMatchObject({ appliedGeneration: 3, size: "4 CU", restartedAt: "now" });
  expect(world.events("DriftCorrected")).toEqual([]);
});
