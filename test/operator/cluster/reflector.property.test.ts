import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Reflector } from "../../../src/operator/cluster/reflector.ts";
import { silentLogger } from "../../../src/operator/runtime/log.ts";
import type { ClusterWeather, RequestFate } from "../../simulation/api-server/faults.ts";
import { seededRandom } from "../../simulation/random.ts";
import { type ConfigMap, configMaps } from "./config-maps.ts";
import { MemoryCluster } from "./memory-cluster.ts";

type Step =
  | { do: "create" | "change" | "delete"; name: string }
  | { do: "cut" | "forget" }
  | { do: "pass"; ms: number };

const anyName = fc.constantFrom("a", "b", "c", "d", "e");
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom("create", "change", "delete"), name: anyName }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("cut", "forget") }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("pass"), ms: fc.integer({ min: 1, max: 20_000 }) }) },
);

/** Half of all requests and of what a watch says comes late, goes wrong or gets lost, while it is stormy. */
function storm(random: () => number, isOn: () => boolean): Partial<ClusterWeather> {
  const late = () => Math.floor(random() * 3000);
  return {
    request: (): RequestFate => {
      if (!isOn() || random() < 0.5) return { kind: "answered", arriveMs: 0, replyMs: 0 };
      const fates: RequestFate[] = [
        { kind: "answered", arriveMs: late(), replyMs: late() },
        { kind: "refused", afterMs: late() },
        { kind: "lost", arriveMs: 0, afterMs: late() },
        { kind: "status", afterMs: late(), status: 429, retryAfterMs: 1000 },
        { kind: "status", afterMs: late(), status: 500 },
      ];
      return fates[Math.floor(random() * fates.length)] ?? { kind: "refused", afterMs: 0 };
    },
    watchOpens: () => ({ kind: isOn() && random() < 0.3 ? "refused" : "opened" }),
    line: () => (isOn() && random() < 0.1 ? { kind: "cut" } : { kind: "delivered", delayMs: isOn() ? late() : 0 }),
    merges: () => isOn() && random() < 0.5,
  };
}

test("whatever the network does, what was told adds up to what is kept, and that to the cluster once it calms down", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 80, size: "max" }), fc.nat(), async (steps, seed) => {
      const cluster = new MemoryCluster(seed);
      const random = seededRandom(seed);
      let stormy = true;
      const told = new Map<string, ConfigMap>();
      const wrong: string[] = [];
      const reflector = new Reflector<ConfigMap>({
        client: cluster.client({ weather: storm(random, () => stormy) }),
        kind: configMaps,
        clock: cluster.clock,
        random,
        log: silentLogger,
        pageSize: 2,
        onChange: ({ type, object, previous }) => {
          const { name, uid } = object.metadata;
          if (told.get(name) !== previous) wrong.push(`${type} ${name} does not follow on what was told before`);
          if (type === "updated" && uid !== previous.metadata.uid) wrong.push(`${name} changed its uid`);
          if (type === "deleted") told.delete(name);
          else told.set(name, object);
        },
      });
      const stop = new AbortController();
      const ended = reflector.run(stop.signal);
      for (const step of steps) await take(cluster, step);
      stormy = false;
      await cluster.clock.advance(120_000);

      const kept = reflector.list().map((object) => object.metadata.name);
      expect(kept).toEqual(cluster.outside.names());
      expect([...told.values()].toSorted(byName)).toEqual(reflector.list());
      expect(wrong).toEqual([]);
      stop.abort();
      await ended;
    }),
    { numRuns: 150 },
  );
});

async function take(cluster: MemoryCluster, step: Step): Promise<void> {
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
