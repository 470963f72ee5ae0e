import { expect, test } from "vitest";
import { ClusterClient } from "../../../src/operator/kube/client.ts";
import type { ClusterTransport, WatchLine } from "../../../src/operator/kube/transport.ts";
import { Informers } from "../../../src/operator/manager/informers.ts";
import { createMetrics } from "../../../src/operator/metrics/metrics.ts";
import { labelSelector } from "../../../src/operator/resources/selector.ts";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import { compute, uidOf } from "../../support/builders.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { noLines } from "../kube/reflector-world.ts";

/** Everything is listed once, and nothing happens then. */
function listing(computes: readonly object[]): ClusterTransport {
  return {
    request: async ({ path }) => ({
      status: 200,
      body: { metadata: { resourceVersion: "1" }, items: path.endsWith("/computes") ? computes : [] },
    }),
    watch: () => noLines,
  };
}

test("a Compute that other CRDs let in is skipped, and named in a warning that is no mistake of the operator's own", async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLogger({ level: "warn", destination: { write: (line) => void lines.push(line) }, clock });
  const good = compute({ name: "good", uid: uidOf(1) });
  const odd = compute({ name: "odd", uid: uidOf(2) });
  const transport = listing([good, { ...odd, spec: { ...odd.spec, computeUnits: { min: 3.5, max: 4 } } }]);
  const stop = new AbortController();
  const client = new ClusterClient(transport, { clock, timeoutMs: 1000, signal: stop.signal });
  const shared = { client, clock, random: () => 0.5, log, metrics: createMetrics() };
  const informers = new Informers({ ...shared, namespaces: [], selects: () => true });
  const running = informers.run(stop.signal);
  await clock.advance(100);
  expect(informers.computes.list().map(({ metadata }) => metadata.name)).toEqual(["good"]);
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    object: expect.stringContaining("/odd"),
    error: { message: expect.stringContaining("computeUnits.min must be one of") },
  });
  expect(lines[0]).not.toContain("stack");
  stop.abort();
  await clock.advance(60_000);
  await running;
});

test("the age of the last event of Secrets is that of the quieter of their watches, whichever that is", async () => {
  const clock = new VirtualClock();
  const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: "2" } } };
  async function* heard(): AsyncGenerator<WatchLine> {
    await new Promise<void>((resolve) => clock.after(5000, resolve));
    yield bookmark;
    await new Promise(() => {});
  }
  async function* silent(): AsyncGenerator<WatchLine> {
    yield await new Promise<WatchLine>(() => {});
  }
  const ages: unknown[] = [];
  for (const selector of ["fieldSelector", "labelSelector"]) {
    const watch: ClusterTransport["watch"] = ({ query }) => (query[selector] === undefined ? silent() : heard());
    const stop = new AbortController();
    const transport = { ...listing([]), watch };
    const client = new ClusterClient(transport, { clock, timeoutMs: 1000, signal: stop.signal });
    const shared = { client, clock, random: () => 0.5, log: silentLogger, metrics: createMetrics() };
    const informers = new Informers({ ...shared, namespaces: [], selects: () => true });
    void informers.run(stop.signal);
    await clock.advance(8000);
    ages.push(informers.lastEventAgeMs()["Secret"]);
    stop.abort();
  }
  expect(ages).toEqual([8000, 8000]);
});

test("the cache keeps no foreign annotations of objects, whatever their kind, nor labels that nothing reads", async () => {
  const clock = new VirtualClock();
  const metadata = {
    namespace: "default",
    uid: uidOf(1),
    resourceVersion: "1",
    labels: { team: "a", "example.com/other": "b" },
    annotations: { "example.com/note": "x".repeat(250_000), "compute-operator.dev/paused": "true" },
  };
  const place = { projectID: "shop", branchID: "br-main" };
  const service = { baseURL: "https://service.example.com/api/v2", apiKeySecretRef: { name: "key" } };
  const specs: Record<string, object> = {
    computes: place,
    computepools: { replicas: 1, template: place },
    branches: { projectID: "shop", expiry: { never: true } },
    serviceconnections: service,
    clusterserviceconnections: { ...service, namespaceSelector: {}, allowedProjects: ["*"] },
  };
  const transport: ClusterTransport = {
    request: async ({ path }) => {
      const plural = path.split("/").at(-1) ?? "";
      const spec = specs[plural];
      const items = spec === undefined ? [] : [{ metadata: { ...metadata, name: plural }, spec, status: {} }];
      return { status: 200, body: { metadata: { resourceVersion: "1" }, items } };
    },
    watch: () => noLines,
  };
  const stop = new AbortController();
  const client = new ClusterClient(transport, { clock, timeoutMs: 1000, signal: stop.signal });
  const shared = { client, clock, random: () => 0.5, log: silentLogger, metrics: createMetrics() };
  const selects = labelSelector("team=a");
  const informers = new Informers({ ...shared, namespaces: [], selects, clusterResourceNamespace: "system" });
  const running = informers.run(stop.signal);
  await clock.advance(100);
  const kept = [
    ...informers.computes.list(),
    ...informers.pools.list(),
    ...informers.branches.list(),
    ...informers.connections,
  ];
  expect(kept.map((object) => object.metadata.name).toSorted()).toEqual(Object.keys(specs).toSorted());
  for (const object of kept) {
    expect(object.metadata.annotations).toEqual({ "compute-operator.dev/paused": "true" });
  }
  expect(informers.computes.list()[0]?.metadata.labels).toEqual({ team: "a" });
  // Given to the Computes that it makes.
  expect(informers.pools.list()[0]?.metadata.labels).toEqual(metadata.labels);
  stop.abort();
  await clock.advance(60_000);
  await running;
});
