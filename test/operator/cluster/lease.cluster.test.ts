import { afterEach, expect, test } from "vitest";
import { aborted } from "../../../src/operator/cluster/leadership.ts";
import { LeaderElection } from "../../../src/operator/cluster/lease.ts";
import { leases } from "../../../src/operator/cluster/lease-record.ts";
import { silentLogger } from "../../../src/operator/runtime/log.ts";
import { createNamespace, kubeconfig } from "../../control-plane/cluster.ts";
import { eventually } from "../../support/eventually.ts";
import { realClock } from "../../support/real-clock.ts";
import { realClient } from "./real-client.ts";

const running: { stop: AbortController; ended: Promise<void>; close: () => Promise<void> }[] = [];

afterEach(async () => {
  for (const { stop, ended, close } of running.splice(0)) {
    stop.abort();
    await ended;
    await close();
  }
});

/** A candidate with a third of the usual times, over real HTTP; `vanish` cuts it off as a crash does. */
function candidate(namespace: string, identity: string) {
  const dead = new AbortController();
  const { client, transport } = realClient(kubeconfig(), { timeoutMs: 1000, signal: dead.signal });
  const stop = new AbortController();
  const election = new LeaderElection({
    client,
    clock: realClock,
    random: Math.random,
    log: silentLogger,
    namespace,
    name: "compute-operator",
    identity,
    leaseDurationMs: 5000,
    renewDeadlineMs: 3300,
    retryPeriodMs: 660,
  });
  const ended = election.run({ signal: stop.signal, onStarted: aborted });
  running.push({ stop, ended, close: () => transport.close() });
  return { election, stop, vanish: () => transport.close() };
}

const leads = ({ election }: ReturnType<typeof candidate>) =>
  eventually("a leader", () => election.mayWrite() || undefined);

test("leadership is handed over at once when it is given back, and within lease and one look when its holder dies", async () => {
  const namespace = await createNamespace("lease");
  const first = candidate(namespace, "first");
  await leads(first);
  const second = candidate(namespace, "second");
  const [beforeGiving] = [performance.now()];
  first.stop.abort();
  await leads(second);
  const given = performance.now() - beforeGiving;
  expect(given).toBeLessThan(1500);

  const third = candidate(namespace, "third");
  await eventually("the third to have looked", async () => {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return true;
  });
  const beforeDeath = performance.now();
  await second.vanish();
  await leads(third);
  const inherited = performance.now() - beforeDeath;
  expect(second.election.mayWrite()).toBe(false);
  expect(inherited).toBeGreaterThan(3000);
  expect(inherited).toBeLessThan(7000);
  console.info(`lease of 5 s: handed over in ${Math.round(given)} ms, inherited in ${Math.round(inherited)} ms`);

  await using real = realClient(kubeconfig());
  const lease = await real.client.get(leases, { namespace, name: "compute-operator" });
  expect(lease?.spec).toMatchObject({ holderIdentity: "third", leaseTransitions: 2, leaseDurationSeconds: 5 });
});
