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
  await using real = realClient(kubeconfig());
  const record = async () => (await real.client.get(leases, { namespace, name: "compute-operator" }))?.spec;
  const first = candidate(namespace, "first");
  await leads(first);
  const second = candidate(namespace, "second");
  await eventually("the second to see that it is held", () => second.looks.count > 0 || undefined);
  first.stop.abort();
  await first.ended;
  // What is counted is how often it looks: how long that takes says how busy the machine is.
  const before = second.looks.count;
  await leads(second);
  // One look may have been under way.
  expect(second.looks.count - before).toBeLessThanOrEqual(2);

  const third = candidate(namespace, "third");
  await eventually("the third to see that it is held", () => third.looks.count > 0 || undefined);
  await second.close();
  const [held, looks] = [await record(), third.looks.count];
  await leads(third);
  expect(second.election.mayWrite()).toBe(false);
  const taken = await record();
  const inherited = Date.parse(taken?.acquireTime ?? "") - Date.parse(held?.renewTime ?? "");
  expect(inherited).toBeGreaterThan(timing.leaseDurationMs - 100);
  // The first may still see a renewal, and the last comes as soon as the lease is over.
  expect(third.looks.count - looks).toBeLessThanOrEqual(Math.ceil(timing.leaseDurationMs / timing.retryPeriodMs) + 2);
  console.info(`lease of 15 s: inherited ${inherited} ms after its last renewal`);
  expect(taken).toMatchObject({ holderIdentity: "third", leaseTransitions: 2, leaseDurationSeconds: 15 });
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
  const successor = candidate(namespace, "successor");
  await leads(successor);
  // What was under way when it was stopped has arrived long since.
  const before = await written();
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
