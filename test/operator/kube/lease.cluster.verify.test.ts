import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { leases } from "../../../src/operator/kube/lease-claim.ts";
import { createNamespace, kubeconfig } from "../../control-plane/shared-control-plane.ts";
import { Child } from "../../support/child.ts";
import { eventually } from "../../support/eventually.ts";
import { realCandidate, timing } from "./candidates.ts";
import { configMaps } from "./config-maps.ts";
import { realClient } from "./real-client.ts";

const running: ReturnType<typeof realCandidate>[] = [];

afterEach(async () => {
  for (const { stop, ended, close } of running.splice(0)) {
    stop.abort();
    await ended;
    await close();
  }
});

function candidate(namespace: string, identity: string) {
  const made = realCandidate(kubeconfig(), namespace, identity);
  running.push(made);
  return made;
}

function leads({ election }: ReturnType<typeof realCandidate>): Promise<true> {
  return eventually("a leader", () => election.mayWrite() || undefined);
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

test("leadership given back is taken at the next retry, and that of a dead holder within its lease and one retry", async () => {
  const namespace = await createNamespace("lease");
  const first = candidate(namespace, "first");
  await leads(first);
  const second = candidate(namespace, "second");
  const givenAt = performance.now();
  first.stop.abort();
  await leads(second);
  const given = performance.now() - givenAt;
  expect(given).toBeLessThan(2 * timing.retryPeriodMs + 500);

  const third = candidate(namespace, "third");
  await pass(2 * timing.retryPeriodMs);
  const diedAt = performance.now();
  await second.close();
  await leads(third);
  const inherited = performance.now() - diedAt;
  expect(second.election.mayWrite()).toBe(false);
  expect(inherited).toBeGreaterThan(timing.leaseDurationMs - 2 * timing.retryPeriodMs);
  expect(inherited).toBeLessThan(timing.leaseDurationMs + 2 * timing.retryPeriodMs + 500);
  console.info(`lease of 5 s: given in ${Math.round(given)} ms, inherited in ${Math.round(inherited)} ms`);

  await using real = realClient(kubeconfig());
  const lease = await real.client.get(leases, { namespace, name: "compute-operator" });
  expect(lease?.spec).toMatchObject({ holderIdentity: "third", leaseTransitions: 2, leaseDurationSeconds: 5 });
});

test("a process stopped while it writes as leader sends no more than the one request past its check when it wakes", async () => {
  const namespace = await createNamespace("lease");
  await using real = realClient(kubeconfig());
  const written = async () => {
    const { items } = await real.client.listPage(configMaps, { namespace });
    return items.filter((item) => JSON.stringify(item).includes('"name":"stopped-')).length;
  };
  const script = join(import.meta.dirname, "writing-leader.ts");
  const stopped = await Child.start({
    name: "a writing leader",
    command: process.execPath,
    args: [script, kubeconfig(), namespace, "stopped"],
  });
  await eventually("writes", async () => ((await written()) > 20 ? true : undefined));
  process.kill(stopped.pid, "SIGSTOP");
  await pass(200);
  const before = await written();
  const successor = candidate(namespace, "successor");
  await leads(successor);
  process.kill(stopped.pid, "SIGCONT");
  await pass(2 * timing.retryPeriodMs);
  expect((await written()) - before).toBeLessThanOrEqual(1);
  expect(successor.election.mayWrite()).toBe(true);
  expect(stopped.running).toBe(true);

  // It stands again like any other, and writes again once it leads.
  successor.stop.abort();
  await eventually("writes of the one that was stopped", async () =>
    (await written()) > before + 5 ? true : undefined,
  );
  await stopped.kill();
});
