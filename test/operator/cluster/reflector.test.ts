import { describe, expect, test } from "vitest";
import { ClusterClient } from "../../../src/operator/cluster/client.ts";
import { ClusterError } from "../../../src/operator/cluster/errors.ts";
import { isObjectOf } from "../../../src/operator/cluster/objects.ts";
import { Reflector, type ReflectorOptions } from "../../../src/operator/cluster/reflector.ts";
import type { Change } from "../../../src/operator/cluster/store.ts";
import type { ClusterTransport, WatchLine } from "../../../src/operator/cluster/transport.ts";
import { silentLogger } from "../../../src/operator/runtime/log.ts";
import { type ConfigMap, configMaps } from "./config-maps.ts";
import { MemoryCluster } from "./memory-cluster.ts";

const minute = 60_000;

function setUp(options: Partial<ReflectorOptions<ConfigMap>> = {}) {
  const cluster = new MemoryCluster();
  const changes: string[] = [];
  const relists: string[] = [];
  const reflector = new Reflector<ConfigMap>({
    client: cluster.client(),
    kind: configMaps,
    clock: cluster.clock,
    random: () => 0.5,
    log: silentLogger,
    onChange: (change) => changes.push(told(change)),
    onRelist: (cause) => relists.push(cause),
    ...options,
  });
  const stop = new AbortController();
  const run = () => reflector.run(stop.signal);
  /** Starts it and forgets what the first list told. */
  const started = async () => {
    void run();
    await cluster.clock.advance(100);
    changes.length = 0;
    return reflector;
  };
  const names = () => reflector.list().map((object) => object.metadata.name);
  return {
    cluster,
    clock: cluster.clock,
    outside: cluster.outside,
    reflector,
    changes,
    relists,
    stop,
    run,
    started,
    names,
  };
}

const forever = new AbortController().signal;
const noLines: AsyncIterable<WatchLine> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
};

function failing(error: Error): AsyncIterable<WatchLine> {
  const next = async () => {
    throw error;
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

function told({ type, object }: Change<ConfigMap>): string {
  return `${type} ${object.metadata.name}`;
}

describe("the first list", () => {
  test("tells of what exists, then of each change as it happens", async () => {
    const { clock, outside, reflector, changes, run } = setUp();
    const first = outside.create("a");
    void run();
    await clock.advance(10);
    outside.create("b");
    outside.change("a", { x: "1" });
    outside.delete("b");
    await clock.advance(10);
    expect(changes).toEqual(["added a", "added b", "updated a", "deleted b"]);
    expect(reflector.get("default", "a")?.data).toEqual({ x: "1" });
    expect(reflector.byUid(first.metadata.uid)?.data).toEqual({ x: "1" });
    expect(reflector.get("default", "b")).toBeUndefined();
  });

  test("fills in the kind, which the API server leaves out of lists", async () => {
    const { outside, started } = setUp();
    outside.create("a");
    const reflector = await started();
    expect(reflector.get("default", "a")).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
  });

  test("is read in pages, and counts only when the last of them is in", async () => {
    const { cluster, clock, outside, reflector, run, changes } = setUp({ pageSize: 2 });
    for (const name of ["a", "b", "c", "d", "e"]) outside.create(name);
    cluster.fate = ({ query }) => (query?.continue === undefined ? undefined : { kind: "refused", afterMs: 0 });
    void run();
    await clock.advance(minute);
    expect(reflector.hasSynced()).toBe(false);
    expect(reflector.list()).toEqual([]);
    expect(changes).toEqual([]);
    cluster.fate = () => undefined;
    await clock.advance(minute);
    expect(reflector.hasSynced()).toBe(true);
    expect(changes).toEqual(["added a", "added b", "added c", "added d", "added e"]);
    expect(new Set(cluster.lists().map(({ query }) => query?.limit))).toEqual(new Set(["2"]));
  });

  test("starts over where its history is forgotten between two pages", async () => {
    const { cluster, clock, outside, run, names } = setUp({ pageSize: 2 });
    for (const name of ["a", "b", "c"]) outside.create(name);
    let forgotten = false;
    cluster.fate = ({ query }) => {
      if (query?.continue !== undefined && !forgotten) {
        forgotten = true;
        outside.delete("b");
        cluster.server.store.compact();
      }
      return undefined;
    };
    void run();
    await clock.advance(minute);
    expect(names()).toEqual(["a", "c"]);
    expect(forgotten).toBe(true);
  });

  test("is waited for by whenSynced, which ends with its signal", async () => {
    const { cluster, clock, reflector, run } = setUp();
    cluster.fate = () => ({ kind: "refused", afterMs: 0 });
    void run();
    const impatient = new AbortController();
    const [waiting, patient] = [
      reflector.whenSynced(impatient.signal),
      reflector.whenSynced(new AbortController().signal),
    ];
    await clock.advance(minute);
    impatient.abort(new Error("shutting down"));
    await expect(waiting).rejects.toThrow("shutting down");
    cluster.fate = () => undefined;
    await clock.advance(minute);
    await patient;
  });
});

describe("a watch that breaks off", () => {
  test("goes on where it was, without another list", async () => {
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

  test("is opened again for ever, at growing distances", async () => {
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

  test("whose history is gone is followed by a list that finds what was deleted, and made anew under the same name", async () => {
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
    expect(reflector.byUid(replaced.metadata.uid)).toBeDefined();
  });

  test("needs no list where a bookmark kept it up to date while others' objects changed", async () => {
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

  test("that is refused for its place alone, as after a restore of etcd, is followed by a list", async () => {
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

  test("as soon as it is opened, every time, is not opened in a hot loop", async () => {
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
});

describe("in a quiet cluster", () => {
  test("an hour costs a watch every five to ten minutes, and one list at its end", async () => {
    const { cluster, clock, reflector, relists, started } = setUp();
    await started();
    await clock.advance(59 * minute);
    expect(cluster.lists()).toHaveLength(1);
    expect(cluster.watches.length).toBeGreaterThanOrEqual(6);
    expect(cluster.watches.length).toBeLessThanOrEqual(12);
    expect(reflector.lastEventAgeMs()).toBeLessThanOrEqual(minute);
    await clock.advance(20 * minute);
    expect(relists).toEqual(["start", "periodic"]);
  });

  test("the age of the last event grows while nothing comes", async () => {
    const { cluster, clock, reflector, started } = setUp();
    await started();
    cluster.watchable = false;
    cluster.cutWatches();
    cluster.fate = () => ({ kind: "refused", afterMs: 0 });
    const before = reflector.lastEventAgeMs();
    await clock.advance(5 * minute);
    expect(reflector.lastEventAgeMs()).toBe(before + 5 * minute);
  });
});

describe("what others do wrong", () => {
  test("a handler that throws misses no later change", async () => {
    const seen: string[] = [];
    const { clock, outside, reflector, run } = setUp({
      onChange: (change) => {
        seen.push(told(change));
        throw new Error("a handler's mistake");
      },
    });
    outside.create("a");
    void run();
    await clock.advance(10);
    outside.create("b");
    await clock.advance(10);
    expect(seen).toEqual(["added a", "added b"]);
    expect(reflector.hasSynced()).toBe(true);
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
    expect(reflector.get("default", "good")?.data).toEqual({ x: "1" });
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
