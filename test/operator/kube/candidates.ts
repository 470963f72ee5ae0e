import { aborted, requireLeader } from "../../../src/operator/kube/leadership.ts";
import { LeaderElection } from "../../../src/operator/kube/lease.ts";
import { realClock } from "../../support/real-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { realClient } from "./real-client.ts";

/** The usual times: an API server on a busy machine takes longer than a part of them. */
export const timing = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 };

/**
 * A candidate over real HTTP, and a client whose writes it lets out only while it leads. `looks`: how often it has read
 * the lease; a leader renews it without.
 */
export function realCandidate(kubeconfig: string, namespace: string, identity: string) {
  const looks = { count: 0 };
  const onRequest = ({ method }: { method: string }, status: number) => {
    if (method === "GET" && status === 200) looks.count += 1;
  };
  const own = realClient(kubeconfig, { timeoutMs: 3000, onRequest });
  const stop = new AbortController();
  const election = new LeaderElection({
    client: own.client,
    clock: realClock,
    random: Math.random,
    log: silentLogger,
    namespace,
    name: "compute-operator",
    identity,
    ...timing,
  });
  const leading = realClient(kubeconfig, { timeoutMs: 3000, beforeSend: requireLeader(election) });
  const ended = election.run({ signal: stop.signal, onStarted: aborted });
  const close = async () => {
    await Promise.all([own.transport.close(), leading.transport.close()]);
  };
  return { election, client: leading.client, stop, ended, close, looks };
}
