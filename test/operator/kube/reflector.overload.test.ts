import { describe, expect, test } from "vitest";
import { ClusterClient } from "../../../src/operator/kube/client.ts";
import type { ClusterTransport, WatchLine } from "../../../src/operator/kube/transport.ts";
import { MemoryCluster } from "./memory-cluster.ts";
import { forever, minute, setUp } from "./reflector-world.ts";

const overloads = [429, 500, 503] as const;

describe.each(overloads)("an API server that answers %i to a watch", (status) => {
  test("an overloaded API server is asked for no list for ten minutes, and the watch goes on from where it was", async () => {
    const { cluster, clock, outside, changes, relists, started } = setUp();
    outside.create("a");
    await started();
    cluster.watchFate = () => ({ kind: "status", status });
    cluster.cutWatches();
    outside.change("a", { x: "1" });
    outside.create("b");
    outside.delete("b");
    await clock.advance(10 * minute);
    expect(changes).toEqual([]);
    expect(cluster.watches.length).toBeGreaterThan(15);
    cluster.watchFate = () => undefined;
    await clock.advance(minute);
    expect(changes).toEqual(["updated a", "added b", "deleted b"]);
    expect(cluster.lists()).toHaveLength(1);
    expect(relists).toEqual(["start"]);
  });

  test("an overloaded API server is left alone for as long as its Retry-After asks", async () => {
    const { cluster, clock, started } = setUp();
    await started();
    cluster.watchFate = () => ({ kind: "status", status, retryAfterMs: 40_000 });
    cluster.cutWatches();
    // The watch that broke off is opened again, which is refused.
    await clock.advance(1000);
    const opened = cluster.watches.length;
    await clock.advance(39_000);
    expect(cluster.watches).toHaveLength(opened);
    await clock.advance(1000);
    expect(cluster.watches).toHaveLength(opened + 1);
    await clock.advance(10 * minute);
    expect(cluster.watches.length - opened).toBeLessThanOrEqual(16);
    expect(cluster.lists()).toHaveLength(1);
  });

  test("an overloaded API server that asks for hours is asked again after five minutes", async () => {
    const { cluster, clock, started } = setUp();
    await started();
    cluster.watchFate = () => ({ kind: "status", status, retryAfterMs: 3_600_000 });
    cluster.cutWatches();
    // The watch that broke off is opened again, which is refused.
    await clock.advance(1000);
    const opened = cluster.watches.length;
    await clock.advance(5 * minute);
    expect(cluster.watches).toHaveLength(opened + 1);
  });

  test("an API server that is overloaded for hours is asked for a list every quarter of an hour: it may be the version that it refuses", async () => {
    const { cluster, clock, outside, names, started } = setUp();
    await started();
    cluster.watchFate = () => ({ kind: "status", status });
    cluster.cutWatches();
    outside.create("a");
    await clock.advance(16 * minute);
    expect(names()).toEqual(["a"]);
    await clock.advance(104 * minute);
    expect(cluster.lists().length).toBeGreaterThan(2);
    expect(cluster.lists().length).toBeLessThanOrEqual(9);
  });
});

test("the Retry-After of a list is honoured too", async () => {
  const { cluster, clock, run } = setUp();
  cluster.fate = () => ({ kind: "status", afterMs: 0, status: 503, retryAfterMs: 60_000 });
  void run();
  await clock.advance(10 * minute - 1);
  expect(cluster.lists()).toHaveLength(10);
});

test("a watch that an overloaded server ends with an ERROR line goes on from where it was, when the line says", async () => {
  const cluster = new MemoryCluster();
  const inner = cluster.transport();
  const opened: number[] = [];
  const busy = {
    kind: "Status",
    code: 429,
    reason: "TooManyRequests",
    message: "storage is (re)initializing",
    details: { retryAfterSeconds: 20 },
  };
  async function* ended(): AsyncGenerator<WatchLine> {
    yield { type: "ERROR", object: busy };
  }
  const transport: ClusterTransport = {
    request: (request, options) => inner.request(request, options),
    watch: (request, options) => {
      opened.push(cluster.clock.monotonic());
      return opened.length <= 5 ? ended() : inner.watch(request, options);
    },
  };
  const client = new ClusterClient(transport, { clock: cluster.clock, timeoutMs: 1000, signal: forever });
  const { run, relists, changes } = setUp({ client, clock: cluster.clock });
  void run();
  await cluster.clock.advance(3 * minute);
  cluster.outside.create("a");
  await cluster.clock.advance(10);
  expect(opened).toEqual([0, 20_000, 40_000, 60_000, 80_000, 100_000]);
  expect(relists).toEqual(["start"]);
  expect(changes).toEqual(["added a"]);
});
