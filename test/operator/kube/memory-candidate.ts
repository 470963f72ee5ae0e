import { LeaderElection } from "../../../src/operator/kube/lease.ts";
import { type Lease, leases } from "../../../src/operator/kube/lease-claim.ts";
import { sleep } from "../../../src/operator/runtime/clock.ts";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import type { MemoryCluster } from "./memory-cluster.ts";

export const second = 1000;

/** One candidate on the shared cluster. `drainMs`: how long its work takes to end after a stop. */
export function candidate(cluster: MemoryCluster, identity: string, options: { drainMs?: number } = {}) {
  const stop = new AbortController();
  const log: string[] = [];
  const written: string[] = [];
  const reach = { broken: false, replyMs: 5, tries: 0 };
  const election = new LeaderElection({
    client: cluster.client({
      timeoutMs: 3 * second,
      weather: {
        request: () => {
          reach.tries += 1;
          if (reach.broken) return { kind: "refused", afterMs: 100 };
          return { kind: "answered", arriveMs: 5, replyMs: reach.replyMs };
        },
      },
    }),
    clock: cluster.clock,
    random: () => 0.5,
    log: createLogger({
      level: "info",
      destination: { write: (line) => void written.push(line) },
      clock: cluster.clock,
    }),
    namespace: "default",
    name: "compute-operator",
    identity,
  });
  const at = () => Math.round(cluster.clock.monotonic() / second);
  const ended = election.run({
    signal: stop.signal,
    onStarted: async (leadSignal) => {
      log.push(`starts at ${at()}`);
      await new Promise((resolve) => leadSignal.addEventListener("abort", resolve, { once: true }));
      if (options.drainMs !== undefined) await sleep(cluster.clock, options.drainMs, new AbortController().signal);
      log.push(`stops at ${at()}`);
    },
  });
  /** What it has written to the log. */
  const lines = () =>
    written.map((line) => {
      const { level, message } = JSON.parse(line);
      return `${level} ${message}`;
    });
  return { election, stop, log, ended, reach, lines };
}

export async function recordOf(cluster: MemoryCluster): Promise<Lease["spec"]> {
  return (await cluster.client().get(leases, { namespace: "default", name: "compute-operator" }))?.spec;
}
