import * as fc from "fast-check";
import { expect, test } from "vitest";
import { aborted } from "../../../src/operator/kube/leadership.ts";
import { LeaderElection } from "../../../src/operator/kube/lease.ts";
import type { RequestFate } from "../../simulation/api-server/faults.ts";
import { seededRandom } from "../../simulation/random.ts";
import { ProcessClock } from "../../support/process-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { MemoryCluster } from "./memory-cluster.ts";

/** What affects one of three candidates for a while. */
interface Trouble {
  who: number;
  kind: "cut off" | "replies lost" | "slow" | "restarted" | "stopped" | "asleep";
  forMs: number;
}

const anyTrouble: fc.Arbitrary<Trouble> = fc.record({
  who: fc.integer({ min: 0, max: 2 }),
  kind: fc.constantFrom("cut off", "replies lost", "slow", "restarted", "stopped", "asleep"),
  forMs: fc.integer({ min: 100, max: 30_000 }),
});

test("three candidates in any trouble have at most one that may write at a time, and one soon after it is over", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyTrouble, { maxLength: 20, size: "max" }), fc.nat(), async (troubles, seed) => {
      const cluster = new MemoryCluster(seed);
      const { clock } = cluster;
      const random = seededRandom(seed);
      const now: (Trouble["kind"] | undefined)[] = [undefined, undefined, undefined];
      const fateOf = (who: number): RequestFate => {
        const ms = Math.floor(random() * 2000);
        const trouble = now[who];
        if (trouble === "cut off") return { kind: "refused", afterMs: ms };
        if (trouble === "replies lost") return { kind: "lost", arriveMs: ms, afterMs: ms };
        if (trouble === "slow") return { kind: "answered", arriveMs: ms * 2, replyMs: ms * 2 };
        return { kind: "answered", arriveMs: Math.floor(ms / 20), replyMs: Math.floor(ms / 20) };
      };
      let starts = 0;
      const start = (who: number) => {
        const stop = new AbortController();
        const ownClock = new ProcessClock(clock);
        const election = new LeaderElection({
          client: cluster.client({ weather: { request: () => fateOf(who) } }),
          clock: ownClock,
          random,
          log: silentLogger,
          namespace: "default",
          name: "compute-operator",
          identity: `candidate-${who}-${(starts += 1)}`,
        });
        const ended = election.run({ signal: stop.signal, onStarted: aborted });
        return { election, stop, ended, ownClock };
      };
      const candidates = [start(0), start(1), start(2)];
      const writers = () => candidates.filter(({ election }) => election.mayWrite()).length;
      const pass = async (ms: number) => {
        for (let left = ms; left > 0; left -= 250) {
          await clock.advance(Math.min(250, left));
          if (writers() > 1) throw new Error(`${writers()} may write at ${clock.monotonic()} ms`);
        }
      };
      for (const { who, kind, forMs } of troubles) {
        now[who] = kind;
        if (kind === "restarted") {
          candidates[who]?.stop.abort();
          candidates[who] = start(who);
        }
        if (kind === "stopped") candidates[who]?.ownClock.stop();
        if (kind === "asleep") candidates[who]?.ownClock.sleep();
        await pass(forMs);
        candidates[who]?.ownClock.resume();
        now[who] = undefined;
      }
      await pass(35_000);
      expect(writers()).toBe(1);
      for (const { stop } of candidates) stop.abort();
      await clock.advance(20_000);
      await Promise.all(candidates.map(({ ended }) => ended));
      expect(writers()).toBe(0);
    }),
    { numRuns: 100 },
  );
});
