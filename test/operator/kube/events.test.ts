import { describe, expect, test } from "vitest";
import { type EventInput, events, type KubeEvent } from "../../../src/operator/kube/event-record.ts";
import { EventRecorder } from "../../../src/operator/kube/events.ts";
import { clippedMessage } from "../../../src/operator/objects/conditions-of.ts";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import { seededRandom } from "../../simulation/random.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { MemoryCluster } from "./memory-cluster.ts";

const second = 1000;
const created: EventInput = { type: "Normal", reason: "Created", message: "Created endpoint ep-1" };

function setUp({ cluster = new MemoryCluster(), log = silentLogger } = {}) {
  const recorder = new EventRecorder({
    client: cluster.client(),
    clock: cluster.clock,
    random: seededRandom(7),
    log,
    component: "compute-operator",
  });
  const recorded = async (): Promise<KubeEvent[]> => {
    const { items } = await cluster.client().listPage(events);
    return items.filter((item): item is KubeEvent => typeof item === "object" && item !== null);
  };
  return { cluster, clock: cluster.clock, recorder, recorded };
}

function compute(uid = "uid-1", namespace: string | undefined = "default") {
  const metadata = { name: "shop-primary", namespace, uid, resourceVersion: "5" };
  return { apiVersion: "compute-operator.dev/v1alpha1", kind: "Compute", metadata };
}

describe("an event", () => {
  test("names its object by uid, who reports, what and when", async () => {
    const { clock, recorder, recorded } = setUp();
    recorder.record(compute(), created);
    await clock.advance(10);
    expect(await recorded()).toMatchObject([
      {
        involvedObject: { kind: "Compute", name: "shop-primary", namespace: "default", uid: "uid-1" },
        type: "Normal",
        reason: "Created",
        message: "Created endpoint ep-1",
        source: { component: "compute-operator" },
        firstTimestamp: "2026-01-01T00:00:00Z",
        count: 1,
      },
    ]);
  });

  test("an event that repeats raises a count, also after its first record was forgotten", async () => {
    const { cluster, clock, recorder, recorded } = setUp();
    recorder.record(compute(), created);
    recorder.record(compute(), created);
    await clock.advance(10 * second);
    recorder.record(compute(), created);
    await clock.advance(10);
    const [only, ...others] = await recorded();
    expect(others).toEqual([]);
    expect(only).toMatchObject({
      count: 3,
      firstTimestamp: "2026-01-01T00:00:00Z",
      lastTimestamp: "2026-01-01T00:00:10Z",
    });

    await cluster.client().delete(events, { namespace: "default", name: only?.metadata.name ?? "" });
    recorder.record(compute(), created);
    await clock.advance(10);
    expect(await recorded()).toMatchObject([{ count: 1 }]);
  });

  test("an event that repeats before it is written is dated by the last time", async () => {
    const { cluster, clock, recorder, recorded } = setUp();
    cluster.fate = () => ({ kind: "answered", arriveMs: 5 * second, replyMs: 0 });
    recorder.record(compute("uid-2"), created);
    recorder.record(compute(), created);
    await clock.advance(3 * second);
    recorder.record(compute(), created);
    await clock.advance(20 * second);
    cluster.fate = () => undefined;
    expect((await recorded()).find(({ involvedObject }) => involvedObject.uid === "uid-1")).toMatchObject({
      count: 2,
      lastTimestamp: "2026-01-01T00:00:03Z",
    });
  });

  test("an event of another object, type or text is another event", async () => {
    const { clock, recorder, recorded } = setUp();
    recorder.record(compute(), created);
    recorder.record(compute("uid-2"), created);
    recorder.record(compute(), { ...created, message: "Created endpoint ep-2" });
    recorder.record(compute(), { ...created, type: "Warning" });
    await clock.advance(10);
    expect(await recorded()).toHaveLength(4);
  });

  test("an event whose answer was lost is written once", async () => {
    const { cluster, clock, recorder, recorded } = setUp();
    cluster.fate = () => (cluster.requests.length === 1 ? { kind: "lost", arriveMs: 0, afterMs: 10 } : undefined);
    recorder.record(compute(), created);
    await clock.advance(30 * second);
    expect(await recorded()).toMatchObject([{ count: 1 }]);
  });

  test("an event is given up after a few tries, and the next one written", async () => {
    const { cluster, clock, recorder, recorded } = setUp();
    cluster.fate = () => ({ kind: "status", afterMs: 0, status: 500 });
    recorder.record(compute(), created);
    await clock.advance(60 * second);
    expect(cluster.requests).toHaveLength(4);
    cluster.fate = () => undefined;
    recorder.record(compute(), { ...created, message: "next" });
    await clock.advance(10);
    expect(await recorded()).toMatchObject([{ message: "next" }]);
  });
});

describe("events of many namespaces", () => {
  const flooded = (flood: number) => {
    const cluster = new MemoryCluster();
    const written: (string | undefined)[] = [];
    const { clock, recorder } = setUp({ cluster });
    cluster.fate = ({ path }) => {
      written.push(/namespaces\/([^/]+)/.exec(path)?.[1]);
      return { kind: "answered", arriveMs: 5, replyMs: 5 };
    };
    for (const name of ["evil", "good"]) {
      cluster.server.handle({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name } } });
    }
    for (let n = 0; n < flood; n += 1) recorder.record(compute(`evil-${n}`, "evil"), created);
    for (let n = 0; n < 3; n += 1) recorder.record(compute(`good-${n}`, "good"), created);
    return { clock, written };
  };

  test("the events of many namespaces take turns: those of one do not wait for thousands of another", async () => {
    const { clock, written } = flooded(2000);
    await clock.advance(60);
    expect(written.slice(0, 6)).toEqual(["evil", "good", "evil", "good", "evil", "good"]);
  });

  test("too many events drop the oldest of the namespace that has most, and none of the others", async () => {
    const { clock, written } = flooded(12_000);
    await clock.advance(100);
    expect(written.filter((namespace) => namespace === "good")).toHaveLength(3);
  });
});

describe("an event that the API server does not take", () => {
  const refusedIn = async (namespace: string) => {
    const { cluster, clock } = setUp();
    const lines: string[] = [];
    const log = createLogger({ level: "info", destination: { write: (line) => void lines.push(line) }, clock });
    const { recorder } = setUp({ cluster, log });
    const body = { metadata: { name: "leaving", finalizers: ["example.com/wait"] } };
    cluster.server.handle({ method: "POST", path: "/api/v1/namespaces", body });
    cluster.server.handle({ method: "DELETE", path: "/api/v1/namespaces/leaving" });
    recorder.record(compute("uid-1", namespace), created);
    await clock.advance(10);
    return lines;
  };

  test("an event that the API server does not take is logged as a warning", async () => {
    expect(await refusedIn("nowhere")).toEqual([expect.stringMatching(/"warn".*Lost an event/)]);
  });

  test("an event in a namespace that is being deleted is dropped without a warning", async () => {
    expect(await refusedIn("leaving")).toEqual([]);
  });
});

test("a fleet that is created at once loses no event", async () => {
  const { clock, recorder, recorded } = setUp();
  const fleet = Array.from({ length: 2000 }, (_, n) => `uid-${n}`);
  for (const uid of fleet) recorder.record(compute(uid), created);
  await clock.advance(10);
  const about = (await recorded()).map(({ involvedObject }) => involvedObject.uid);
  expect(new Set(about)).toEqual(new Set(fleet));
});

test("an object that reports too much is cut short, and others are not", async () => {
  const { clock, recorder, recorded } = setUp();
  for (let n = 0; n < 100; n += 1) recorder.record(compute(), { ...created, message: `message ${n}` });
  recorder.record(compute("uid-2"), { ...created, message: "of another" });
  await clock.advance(10);
  expect(await recorded()).toHaveLength(26);
  await clock.advance(2 * 60 * second);
  for (let n = 0; n < 100; n += 1) recorder.record(compute(), { ...created, message: `later ${n}` });
  await clock.advance(10);
  expect(await recorded()).toHaveLength(28);
});

describe("at shutdown", () => {
  test("what was recorded is written before drain is over", async () => {
    const { clock, recorder, recorded } = setUp();
    for (let n = 0; n < 5; n += 1) recorder.record(compute(), { ...created, message: `message ${n}` });
    const drained = recorder.drain(new AbortController().signal);
    await clock.settle();
    await drained;
    expect(await recorded()).toHaveLength(5);
  });

  test("what cannot be written is dropped when time is up", async () => {
    const { cluster, clock, recorder } = setUp();
    cluster.fate = () => ({ kind: "status", afterMs: 0, status: 500 });
    for (let n = 0; n < 5; n += 1) recorder.record(compute(), { ...created, message: `message ${n}` });
    const stop = new AbortController();
    const drained = recorder.drain(stop.signal);
    await clock.advance(100);
    stop.abort();
    await drained;
    expect(clock.pending).toBe(0);
  });
});

test("a message is cut off at 1 KiB, between two characters", () => {
  const long = "ü".repeat(600);
  expect(Buffer.byteLength(clippedMessage(long))).toBeLessThanOrEqual(1024);
  expect(clippedMessage(long)).toMatch(/^ü{500,}…$/);
  expect(clippedMessage("short")).toBe("short");
  expect(clippedMessage("a branch called \u001b[2Jx\n\u009b1A")).toBe("a branch called  [2Jx 1A");
});
