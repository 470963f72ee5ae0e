import { afterEach, describe, expect, it } from "vitest";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import { OpenTelemetryTracer } from "../../../src/operator/tracing/open-telemetry.ts";
import { goodKey } from "../../integration/support/seeded-service.ts";
import { SmallWorld } from "../../integration/support/small-world.ts";
import { freePort } from "../../support/ports.ts";
import type { VirtualClock } from "../../support/virtual-clock.ts";
import { Collector, type Received } from "./collector.ts";

const spec = { projectID: "shop", branchID: "br-main", scaleToZero: { enabled: false } };
const lines: string[] = [];
let tracer: OpenTelemetryTracer | undefined;

const tracerTo = (endpoint: string) => (clock: VirtualClock) => {
  const log = createLogger({ level: "info", clock, destination: { write: (line) => void lines.push(line) } });
  tracer = new OpenTelemetryTracer({ url: `${endpoint}/v1/traces`, clock, log });
  return tracer;
};

afterEach(() => {
  lines.length = 0;
});

/** All calls to the service for two Computes that are created and changed, the objects' versions, and the time. */
async function callsWith(tracerOn?: (clock: VirtualClock) => OpenTelemetryTracer): Promise<string[]> {
  await using world = new SmallWorld(["br-a", "br-b"], 1, {}, undefined, {}, tracerOn);
  world.declare(0, { ...spec, branchID: "br-a" });
  world.declare(1, { ...spec, branchID: "br-b" });
  await world.settle(2);
  world.edit(0, { computeUnits: { min: 1, max: 2 } });
  await world.clock.advance(60_000);
  await world.settle(2);
  const calls = world.host.calls.map(
    ({ method, path, status }) => `${method} ${path.replace(/ep-[\w-]+/, "{e}")} ${status}`,
  );
  return [...calls, ...world.versions, String(world.clock.now())];
}

/** The traces whose reconcile carried this action out. */
function reconciles(spans: readonly Received[], action: string): { root: Received; children: Received[] }[] {
  const roots = spans.filter(({ attributes }) => attributes["compute_operator.action"] === action);
  return roots.map((root) => ({ root, children: spans.filter(({ parent }) => parent === root.id) }));
}

describe("a Compute's create", () => {
  it("a create is one trace: the wait in the queue, each request to the service by route, and the API server's patches", async () => {
    await using collector = await Collector.start();
    await using world = new SmallWorld([], 1, {}, undefined, {}, tracerTo(collector.endpoint));
    world.declare(0, spec);
    await world.settle(1);
    await tracer?.close();
    const [create, ...others] = reconciles(collector.spans, "create");
    expect(others).toEqual([]);
    expect(create?.root).toMatchObject({
      name: "reconcile compute",
      parent: "",
      isError: false,
      service: "compute-operator",
      attributes: {
        "compute_operator.uid": world.compute(0).metadata.uid,
        "k8s.namespace.name": "default",
        "compute_operator.name": "db-0",
        "compute_operator.result": "ok",
      },
    });
    const computes = "/apis/compute-operator.dev/v1alpha1/namespaces/{namespace}/computes/{name}";
    expect(create?.children.map(({ name }) => name)).toEqual([
      "wait in queue",
      `PATCH ${computes}/status`,
      `PATCH ${computes}`,
      "POST /projects/{p}/endpoints",
      `PATCH ${computes}`,
    ]);
    // The status is written once the compute is there, by a reconcile of the same object.
    const later = reconciles(collector.spans, "settled").filter(
      ({ root }) => root.startMs >= (create?.root.endMs ?? 0),
    );
    expect(later.flatMap(({ children }) => children.map(({ name }) => name))).toContain(`PATCH ${computes}/status`);
    expect(new Set(later.map(({ root }) => root.attributes["compute_operator.uid"]))).toEqual(
      new Set([world.compute(0).metadata.uid]),
    );
    expect(create?.children[3]?.attributes).toEqual({
      "peer.service": "service",
      "http.request.method": "POST",
      "http.route": "/projects/{p}/endpoints",
      "http.response.status_code": 201,
    });
    for (const child of create?.children ?? []) {
      expect(child.traceID).toBe(create?.root.traceID);
      expect(child.startMs).toBeGreaterThanOrEqual(create?.root.startMs ?? Number.NaN);
      expect(child.endMs).toBeLessThanOrEqual(create?.root.endMs ?? Number.NaN);
    }
  });

  it("shows no key, and no id of the service in a route", async () => {
    await using collector = await Collector.start();
    await using world = new SmallWorld([], 1, {}, undefined, {}, tracerTo(collector.endpoint));
    world.declare(0, { ...spec, connectionSecret: { name: "db" } });
    await world.settle(1);
    const { endpointID = "none" } = world.compute(0).status;
    await tracer?.close();
    const sent = collector.requests.map(({ body }) => body).join("");
    expect(sent).toContain("reconcile compute");
    expect(sent).not.toContain(goodKey);
    expect(sent).not.toMatch(/authorization|bearer|password/i);
    expect(sent).not.toContain(endpointID);
  });

  it("a create that the service refuses shows the code and is an error", async () => {
    await using collector = await Collector.start();
    await using world = new SmallWorld([], 1, {}, undefined, {}, tracerTo(collector.endpoint));
    const body = '{"request_id": "r", "code": "", "message": "not now"}';
    world.host.instead = ({ method }) => {
      if (method !== "POST") return undefined;
      world.host.instead = undefined;
      return { status: 503, headers: { "content-type": "application/json" }, body };
    };
    world.declare(0, spec);
    await world.settle(1);
    await tracer?.close();
    const posts = collector.spans.filter(({ name }) => name === "POST /projects/{p}/endpoints");
    expect(posts.map(({ isError, attributes }) => [isError, attributes["http.response.status_code"]])).toEqual([
      [true, 503],
      [false, 201],
    ]);
  });
});

it("a list that no reconcile waits in is a trace of its own, and watches and leases are none", async () => {
  await using collector = await Collector.start();
  await using world = new SmallWorld([], 1, {}, undefined, {}, tracerTo(collector.endpoint));
  world.declare(0, spec);
  await world.settle(1);
  await world.clock.advance(300_000);
  await tracer?.close();
  const roots = collector.spans.filter(({ parent }) => parent === "");
  const lists = roots.filter(({ name }) => name === "GET /projects/{p}/endpoints");
  expect(lists.length).toBeGreaterThan(5);
  expect(new Set(lists.map(({ traceID }) => traceID)).size).toBe(lists.length);
  expect(roots.filter(({ name }) => /\/api/.test(name))).toEqual([]);
});

it.each(["400", "503", "never"] as const)(
  "a collector that answers %s changes no request and loses no write",
  async (answers) => {
    await using collector = await Collector.start(answers);
    const traced = await callsWith(tracerTo(collector.endpoint));
    expect(traced).toEqual(await callsWith());
    expect(traced.length).toBeGreaterThan(3);
  },
);

it("a collector that takes no traces is reported in the log", async () => {
  await using collector = await Collector.start("400");
  await callsWith(tracerTo(collector.endpoint));
  await tracer?.close();
  expect(collector.requests.length).toBeGreaterThan(0);
  expect(lines.map((line) => JSON.parse(line).message)).toEqual([
    "The collector takes no traces: spans are dropped. Nothing else depends on it",
  ]);
});

it("a collector that is not there changes nothing, and holds up the end for two seconds at most", async () => {
  let clock: VirtualClock | undefined;
  const gone = `http://127.0.0.1:${await freePort()}`;
  const traced = await callsWith((of) => {
    clock = of;
    return tracerTo(gone)(of);
  });
  expect(traced).toEqual(await callsWith());
  const closing = tracer?.close().then(() => "closed");
  await clock?.advance(2000);
  expect(await closing).toBe("closed");
});
