import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ClusterClient } from "../../../src/operator/kube/client.ts";
import { guardedPatch } from "../../../src/operator/kube/json-patch.ts";
import { Reflector } from "../../../src/operator/kube/reflector.ts";
import { isNewer } from "../../../src/operator/kube/store.ts";
import type { ClusterWeather, RequestFate } from "../../simulation/api-server/faults.ts";
import { seededRandom } from "../../simulation/random.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { type ConfigMap, configMap, configMaps } from "./config-maps.ts";
import { MemoryCluster } from "./memory-cluster.ts";

type Step =
  | { do: "create" | "change" | "delete"; name: string }
  /** Writes of this process, whose answers the reflector receives. */
  | { do: "own create" | "own change" | "own release"; name: string }
  | { do: "cut" | "forget" }
  | { do: "pass"; ms: number };

const anyName = fc.constantFrom("a", "b", "c", "d", "e");
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom("create", "change", "delete"), name: anyName }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom("own create", "own change", "own release"), name: anyName }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("cut", "forget") }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("pass"), ms: fc.integer({ min: 1, max: 20_000 }) }) },
);

/**
 * Half of all requests and of what a watch says comes late, goes wrong or gets lost, while it is stormy. A list's reply
 * takes longest: what it shows is then long past.
 */
function storm(random: () => number, isOn: () => boolean): Partial<ClusterWeather> {
  const late = () => Math.floor(random() * 3000);
  return {
    request: ({ method }): RequestFate => {
      if (!isOn() || random() < 0.5) return { kind: "answered", arriveMs: 0, replyMs: 0 };
      if (method === "GET" && random() < 0.5) return { kind: "answered", arriveMs: 0, replyMs: 8 * late() };
      const outcomes: RequestFate[] = [
        { kind: "answered", arriveMs: late(), replyMs: late() },
        { kind: "refused", afterMs: late() },
        { kind: "lost", arriveMs: 0, afterMs: late() },
        { kind: "status", afterMs: late(), status: 429, retryAfterMs: 1000 },
        { kind: "status", afterMs: late(), status: 500 },
      ];
      return outcomes[Math.floor(random() * outcomes.length)] ?? { kind: "refused", afterMs: 0 };
    },
    watchOpens: () => ({ kind: isOn() && random() < 0.3 ? "refused" : "opened" }),
    line: () => (isOn() && random() < 0.1 ? { kind: "cut" } : { kind: "delivered", delayMs: isOn() ? late() : 0 }),
    merges: () => isOn() && random() < 0.5,
  };
}

test("whatever the network does, the reported changes add up to the store, and the store equals the cluster once it calms down", async () => {
  let answers = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 80, size: "max" }), fc.nat(), async (steps, seed) => {
      const cluster = new MemoryCluster(seed);
      const random = seededRandom(seed);
      let stormy = true;
      const gone = new Set<string>();
      const reported = new Map<string, ConfigMap>();
      const wrong: string[] = [];
      const weather = storm(random, () => stormy);
      const reflector = new Reflector<ConfigMap>({
        client: cluster.client({ weather, timeoutMs: 30_000 }),
        kind: configMaps,
        clock: cluster.clock,
        random,
        log: silentLogger,
        pageSize: 2,
        onChange: ({ type, object, previous }) => {
          const { name, uid } = object.metadata;
          if (reported.get(name) !== previous) wrong.push(`${type} ${name} does not follow the change reported before`);
          if (type === "updated" && uid !== previous.metadata.uid) wrong.push(`${name} changed its uid`);
          if (
            type === "updated" &&
            isNewer(object.metadata.resourceVersion, previous.metadata.resourceVersion) !== true
          )
            wrong.push(`${name} went back`);
          if (type !== "deleted" && gone.has(uid)) wrong.push(`${name} came back though it was deleted`);
          if (type === "deleted") reported.delete(name);
          else reported.set(name, object);
          if (type === "deleted") gone.add(uid);
        },
      });
      const stop = new AbortController();
      const ended = reflector.run(stop.signal);
      const own = cluster.client({
        weather,
        onAnswer: (_, object, { created }) => {
          const known = reflector.store.byUid(object.metadata.uid);
          reflector.answered(object, created);
          if (created && reflector.isServed() && known === undefined) answers += 1;
          const now = reflector.store.byUid(object.metadata.uid);
          if (known !== undefined && now !== known) answers += 1;
        },
      });
      for (const step of steps) await take(cluster, own, reflector, step);
      stormy = false;
      await cluster.clock.advance(120_000);

      const kept = reflector.store.list().map((object) => object.metadata.name);
      expect(kept).toEqual(cluster.outside.names());
      expect([...reported.values()].toSorted(byName)).toEqual(reflector.store.list());
      expect(wrong).toEqual([]);
      stop.abort();
      await ended;
    }),
    { numRuns: 300 },
  );
  // Otherwise no answer came before its event, and the test shows nothing.
  expect(answers).toBeGreaterThan(100);
});

/** The finalizer that holds what this process created. */
const finalizer = "example.com/held";

function ownWrite(
  client: ClusterClient,
  known: ConfigMap | undefined,
  step: Step & { name: string },
): Promise<unknown> {
  if (step.do === "own create") {
    const { metadata, ...draft } = configMap("default", step.name);
    return client.create(configMaps, { ...draft, metadata: { ...metadata, finalizers: [finalizer] } });
  }
  if (known === undefined) return Promise.resolve();
  const patch = guardedPatch(known);
  if (step.do === "own change") patch.setAnnotation("example.com/was", known.metadata.resourceVersion);
  else patch.removeFinalizer(finalizer);
  return patch.isEmpty ? Promise.resolve() : client.patch(configMaps, known.metadata, patch.ops());
}

async function take(
  cluster: MemoryCluster,
  own: ClusterClient,
  reflector: Reflector<ConfigMap>,
  step: Step,
): Promise<void> {
  const exists = "name" in step && cluster.outside.names().includes(step.name);
  switch (step.do) {
    case "create":
      if (!exists) cluster.outside.create(step.name);
      break;
    case "change":
      if (exists) cluster.outside.change(step.name, { version: String(cluster.server.store.revision) });
      break;
    case "delete":
      if (exists) cluster.outside.delete(step.name);
      break;
    case "own create":
    case "own change":
    case "own release":
      // Whether it is refused, lost or answered late: nobody waits for it.
      void ownWrite(own, reflector.store.get("default", step.name), step).catch(() => {});
      break;
    case "cut":
      cluster.cutWatches();
      break;
    case "forget":
      cluster.server.store.compact();
      break;
    case "pass":
      await cluster.clock.advance(step.ms);
      break;
  }
}

function byName(a: ConfigMap, b: ConfigMap): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
