import { describe, expect, test } from "vitest";
import { ClusterClient } from "../../../src/operator/kube/client.ts";
import { ClusterError } from "../../../src/operator/kube/errors.ts";
import { isObjectOf } from "../../../src/operator/kube/objects.ts";
import type { Change } from "../../../src/operator/kube/store.ts";
import type { ClusterTransport, WatchLine } from "../../../src/operator/kube/transport.ts";
import { sleep } from "../../../src/operator/runtime/clock.ts";
import type { Logger } from "../../../src/operator/runtime/log.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { type ConfigMap, configMap, configMaps } from "./config-maps.ts";
import { MemoryCluster } from "./memory-cluster.ts";
import { failing, forever, minute, noLines, reported, setUp } from "./reflector-world.ts";

test("a watch that breaks off goes on where it was, without another list", async () => {
  const { cluster, clock, outside, changes, started } = setUp();
  outside.create("a");
  await started();
  cluster.watchable = false;
  cluster.cutWatches();
  outside.change("a", { x: "1" });
  outside.create("b");
  outside.delete("b");
  await clock.advance(10_000);
  expect(changes).toEqual([]);
  cluster.watchable = true;
  await clock.advance(minute);
  expect(changes).toEqual(["updated a", "added b", "deleted b"]);
  expect(cluster.lists()).toHaveLength(1);
});

test("a watch that breaks off is opened again for ever, at growing distances", async () => {
  const { cluster, clock, outside, changes, started } = setUp();
  await started();
  cluster.watchable = false;
  cluster.cutWatches();
  await clock.advance(60 * minute);
  // Four doublings to the longest wait of 30 s, of which chance takes a quarter here.
  expect(cluster.watches.length).toBeGreaterThan(120);
  expect(cluster.watches.length).toBeLessThan(200);
  cluster.watchable = true;
  outside.create("a");
  await clock.advance(minute);
  expect(changes).toEqual(["added a"]);
});

test("a watch without its history is followed by a list that finds what was deleted, and created again under the same name", async () => {
  const { cluster, clock, outside, reflector, changes, relists, started, names } = setUp();
  for (const name of ["kept", "gone", "replaced"]) outside.create(name);
  await started();
  cluster.watchable = false;
  cluster.cutWatches();
  outside.delete("gone");
  outside.delete("replaced");
  const replaced = outside.create("replaced");
  outside.create("new");
  cluster.server.store.compact();
  cluster.watchable = true;
  await clock.advance(minute);
  expect(changes.toSorted()).toEqual(["added new", "added replaced", "deleted gone", "deleted replaced"]);
  expect(changes.indexOf("deleted replaced")).toBeLessThan(changes.indexOf("added replaced"));
  expect(relists).toEqual(["start", "expired"]);
  expect(names()).toEqual(["kept", "new", "replaced"]);
  expect(reflector.store.byUid(replaced.metadata.uid)).toBeDefined();
});

test("a watch that breaks off needs no list where a bookmark kept it up to date while others' objects changed", async () => {
  const { cluster, clock, relists, started } = setUp();
  await started();
  for (let n = 0; n < 10; n += 1) {
    cluster.server.handle({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name: `n${n}` } } });
  }
  await clock.advance(2 * minute);
  cluster.server.store.compact();
  cluster.cutWatches();
  await clock.advance(minute);
  expect(relists).toEqual(["start"]);
});

test("a watch that is refused for its place alone, as after a restore of etcd, is followed by a list", async () => {
  const cluster = new MemoryCluster();
  const inner = cluster.transport();
  let refusals = 0;
  const refuse = () => {
    refusals += 1;
    return failing(new ClusterError({ status: 504, reason: "Timeout", message: "Too large resource version" }));
  };
  const transport: ClusterTransport = {
    request: (request, options) => inner.request(request, options),
    watch: (request, options) => (refusals < 3 ? refuse() : inner.watch(request, options)),
  };
  const client = new ClusterClient(transport, { clock: cluster.clock, timeoutMs: 1000, signal: forever });
  const { run, relists, stop } = setUp({ client, clock: cluster.clock });
  void run();
  await cluster.clock.advance(minute);
  stop.abort();
  expect(relists).toEqual(["start", "expired"]);
});

test("the end of an object is told with the state that it had then, also where no change to that came before", async () => {
  const cluster = new MemoryCluster();
  const inner = cluster.transport();
  const { metadata } = cluster.outside.create("a", { x: "before" });
  const last = { ...configMap("default", "a", { ...metadata, resourceVersion: "9999" }), data: { x: "last" } };
  const deleted: WatchLine = { type: "DELETED", object: last };
  const lines: AsyncIterable<WatchLine> = {
    async *[Symbol.asyncIterator]() {
      yield deleted;
    },
  };
  let opened = 0;
  const transport: ClusterTransport = {
    request: (request, options) => inner.request(request, options),
    watch: () => {
      opened += 1;
      return opened === 1 ? lines : noLines;
    },
  };
  const client = new ClusterClient(transport, { clock: cluster.clock, timeoutMs: 1000, signal: forever });
  const told: string[] = [];
  const onChange = ({ type, object }: Change<ConfigMap>) => told.push(`${type} ${object.data?.["x"]}`);
  const { run, stop } = setUp({ client, clock: cluster.clock, onChange });
  void run();
  await cluster.clock.advance(200);
  stop.abort();
  expect(told).toEqual(["added before", "deleted last"]);
});

test("a watch that breaks off as soon as it is opened, every time, is not opened in a hot loop", async () => {
  const cluster = new MemoryCluster();
  const inner = cluster.transport();
  let opened = 0;
  const transport: ClusterTransport = {
    request: (request, options) => inner.request(request, options),
    watch: () => {
      opened += 1;
      return noLines;
    },
  };
  const client = new ClusterClient(transport, { clock: cluster.clock, timeoutMs: 1000, signal: forever });
  const { run } = setUp({ client, clock: cluster.clock });
  void run();
  await cluster.clock.advance(10 * minute);
  expect(opened).toBeLessThan(40);
});

describe("after etcd was restored from a backup", () => {
  /** A cluster whose objects were changed often since the backup, restored, and its API server started again. */
  async function restored() {
    const world = setUp();
    const { cluster, outside, started } = world;
    outside.create("a");
    const backup = cluster.server.store.revision;
    outside.create("b");
    await started();
    for (let n = 0; n < 100; n += 1) outside.change("a", { x: `${n}` });
    await world.clock.advance(10);
    cluster.server.restore(backup);
    cluster.cutWatches();
    return world;
  }

  test("a watch that waits in silence for a version to come is given up after two idle time-outs", async () => {
    const { cluster, clock, outside, reflector, relists, names } = await restored();
    outside.change("a", { x: "edited" });
    await clock.advance(4 * minute);
    expect(relists).toEqual(["start"]);
    await clock.advance(2 * minute);
    expect(relists).toEqual(["start", "expired"]);
    expect(names()).toEqual(["a"]);
    expect(reflector.store.get("default", "a")?.data).toEqual({ x: "edited" });
    outside.change("a", { x: "again" });
    await clock.advance(10);
    expect(reflector.store.get("default", "a")?.data).toEqual({ x: "again" });
    await clock.advance(30 * minute);
    expect(cluster.lists()).toHaveLength(2);
  });

  test("a line that is older than the place of the watch is followed by a list at once", async () => {
    const cluster = new MemoryCluster();
    const inner = cluster.transport();
    const older: WatchLine[] = [];
    const transport: ClusterTransport = {
      request: (request, options) => inner.request(request, options),
      async *watch(request, options) {
        yield* older.splice(0);
        yield* inner.watch(request, options);
      },
    };
    const client = new ClusterClient(transport, { clock: cluster.clock, timeoutMs: 1000, signal: forever });
    const { run, relists, names } = setUp({ client, clock: cluster.clock });
    cluster.outside.create("a");
    const backup = cluster.server.store.revision;
    cluster.outside.create("b");
    void run();
    await cluster.clock.advance(10);
    cluster.server.restore(backup);
    older.push({ type: "BOOKMARK", object: { metadata: { resourceVersion: String(backup) } } });
    cluster.cutWatches();
    await cluster.clock.advance(1000);
    expect(relists).toEqual(["start", "expired"]);
    expect(names()).toEqual(["a"]);
  });
});

describe("a watch that ends by its idle time-out each time", () => {
  /** For how many lists it asks in half an hour, if each watch begins with these lines; timers may fire early. */
  async function listsAfter(lines: (version: number) => WatchLine[], earlyMs = 0): Promise<number> {
    const cluster = new MemoryCluster();
    const inner = cluster.transport();
    const transport: ClusterTransport = {
      request: (request, options) => inner.request(request, options),
      async *watch(_request, { idleTimeoutMs, signal }) {
        yield* lines(cluster.server.store.revision);
        await sleep(cluster.clock, idleTimeoutMs - earlyMs, signal);
        throw new Error("nothing came");
      },
    };
    const client = new ClusterClient(transport, { clock: cluster.clock, timeoutMs: 1000, signal: forever });
    const { run, stop } = setUp({ client, clock: cluster.clock });
    void run();
    await cluster.clock.advance(30 * minute);
    stop.abort();
    return cluster.lists().length;
  }

  test("asks for no list where a line came in between", async () => {
    const bookmark = (version: number) => ({
      type: "BOOKMARK",
      object: { metadata: { resourceVersion: `${version}` } },
    });
    expect(await listsAfter((version) => [bookmark(version)])).toBe(1);
  });

  test.each([0, 0.9])("asks for a list after every second one where none came, %f ms early", async (earlyMs) => {
    const count = await listsAfter(() => [], earlyMs);
    expect(count).toBeGreaterThanOrEqual(5);
    expect(count).toBeLessThanOrEqual(7);
  });
});

test("a watch that breaks off time and again is followed by a list after an hour", async () => {
  const { cluster, clock, relists, started } = setUp();
  await started();
  for (let n = 0; n < 10 * 60; n += 1) {
    await clock.advance(10_000);
    cluster.cutWatches();
  }
  expect(relists).toEqual(["start", "periodic"]);
});

describe("what others do wrong", () => {
  test("a kind whose definition is not installed is reported as such, with what installs it", async () => {
    const kind = { ...configMaps, group: "compute-operator.dev", plural: "computes" };
    const messages: string[] = [];
    const log: Logger = { ...silentLogger, info: (_, message) => messages.push(message) };
    const { run, clock } = setUp({ kind, log });
    void run();
    await clock.advance(100);
    expect(messages).toEqual([expect.stringContaining("computes.compute-operator.dev: are the definitions installed")]);
  });

  test("a handler that throws misses no later change", async () => {
    const seen: string[] = [];
    const { clock, outside, reflector, run } = setUp({
      onChange: (change) => {
        seen.push(reported(change));
        throw new Error("a handler's mistake");
      },
    });
    outside.create("a");
    void run();
    await clock.advance(10);
    outside.create("b");
    await clock.advance(10);
    expect(seen).toEqual(["added a", "added b"]);
    expect(reflector.isServed()).toBe(true);
  });

  test("an object that cannot be read is skipped, and what was known of it stays until it is gone", async () => {
    const parse = (raw: unknown) => {
      const object = isObjectOf(configMaps, raw) ? raw : undefined;
      if (object?.data?.odd === "throws") throw new Error("odd");
      return object?.data?.odd === undefined ? object : undefined;
    };
    const { cluster, clock, outside, names, changes, started, reflector } = setUp({ parse });
    outside.create("good", { x: "1" });
    outside.create("odd", { odd: "yes" });
    await started();
    expect(names()).toEqual(["good"]);
    outside.change("good", { odd: "throws" });
    outside.create("later");
    await clock.advance(10);
    expect(reflector.store.get("default", "good")?.data).toEqual({ x: "1" });
    cluster.server.store.compact();
    cluster.cutWatches();
    outside.delete("odd");
    cluster.server.store.compact();
    await clock.advance(minute);
    expect(names()).toEqual(["good", "later"]);
    outside.delete("good");
    await clock.advance(10);
    expect(changes).toEqual(["added later", "deleted good"]);
  });
});

describe("its signal", () => {
  test.each([
    [
      "while it lists",
      (cluster: MemoryCluster) => (cluster.fate = () => ({ kind: "answered", arriveMs: 500, replyMs: 500 })),
    ],
    ["while it backs off", (cluster: MemoryCluster) => (cluster.fate = () => ({ kind: "refused", afterMs: 0 }))],
    ["while it watches", (_cluster: MemoryCluster) => undefined],
  ])("ends it %s and leaves nothing running", async (_when, arrange) => {
    const { cluster, clock, stop, run } = setUp();
    arrange(cluster);
    const ended = run();
    await clock.advance(700);
    stop.abort();
    await clock.settle();
    await ended;
    const sent = cluster.requests.length;
    await clock.advance(minute);
    expect(cluster.requests).toHaveLength(sent);
    expect(clock.pending).toBe(0);
  });
});
