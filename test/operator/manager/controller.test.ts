import { expect, test } from "vitest";
import { ClusterError } from "../../../src/operator/kube/errors.ts";
import { NotLeader } from "../../../src/operator/kube/leadership.ts";
import { Controller } from "../../../src/operator/manager/controller.ts";
import { createMetrics } from "../../../src/operator/metrics/metrics.ts";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import { noTracer } from "../../../src/operator/runtime/tracer.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** A queue that runs; `fail` decides what each reconcile throws, else it asks for another in `again` milliseconds. */
function running(fail: (pass: number) => Error | undefined, again?: number) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const reconciles: number[] = [];
  const lines: string[] = [];
  const metrics = createMetrics();
  const queue = new Controller({
    kind: "compute",
    clock,
    random: () => 0,
    log: createLogger({ level: "info", destination: { write: (line) => void lines.push(line) }, clock }),
    metrics,
    tracer: noTracer,
    workers: 4,
    flowOf: () => "",
    nameOf: () => ({ namespace: "eu", name: "primary" }),
    reconcile: async () => {
      reconciles.push(clock.monotonic());
      const error = fail(reconciles.length);
      if (error !== undefined) throw error;
      return { requeueAfterMs: again };
    },
    stopped: stop.signal,
  });
  void queue.run(stop.signal);
  queue.enqueue(["shop"]);
  return { clock, stop, reconciles, lines, queue, metrics };
}

test("a reconcile without its claim to the lease for a moment is repeated: nobody else would wake its object", async () => {
  const { clock, reconciles } = running((count) => (count === 1 ? new NotLeader("not now") : undefined));
  await clock.advance(60_000);
  expect(reconciles).toEqual([0, 50]);
});

test("a reconcile of an operator that stops is not repeated", async () => {
  const { clock, stop, reconciles } = running(() => {
    stop.abort();
    return new NotLeader("no more");
  });
  await clock.advance(60_000);
  expect(reconciles).toEqual([0]);
  expect(clock.pending).toBe(0);
});

test.each([
  [2, 2000],
  [3600, 30_000],
])("one that the API server refuses with Retry-After: %i is repeated after %i ms", async (seconds, ms) => {
  const overloaded = new ClusterError({ status: 429, reason: "", message: "too many", retryAfterMs: seconds * 1000 });
  const { clock, reconciles } = running((count) => (count === 1 ? overloaded : undefined));
  await clock.advance(60_000);
  expect(reconciles).toEqual([0, ms]);
});

test("a reconcile that fails is reported with the name of its object, not only its uid", async () => {
  const { clock, lines } = running((count) => (count === 1 ? new Error("no right") : undefined));
  await clock.advance(1000);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: "warn", kind: "compute", namespace: "eu", name: "primary", uid: "shop", error: { message: "no right" } },
  ]);
});

test("each reconcile that is repeated because it failed is counted", async () => {
  const { clock, metrics } = running((count) => (count <= 3 ? new Error("no right") : undefined));
  await clock.advance(60_000);
  expect(await metrics.text()).toContain('compute_operator_queue_retries_total{kind="compute"} 3');
});

test("a reconcile that asks for another in a fraction of a millisecond gets it with the next whole one, and never spins", async () => {
  const { clock, reconciles } = running(() => undefined, 1e-11);
  await clock.advance(3);
  expect(reconciles).toEqual([0, 1, 2, 3]);
});

test.each([
  ["and wants no other", undefined],
  ["and wants another later", 650],
])(
  "a reconcile that succeeds %s ends the backoff: the next failure is repeated after the shortest wait again",
  async (_, again) => {
    const { clock, reconciles, queue } = running((count) => (count === 4 ? undefined : new Error("no right")), again);
    await clock.advance(999);
    expect(reconciles).toEqual([0, 50, 150, 350]);
    await clock.advance(1);
    if (again === undefined) queue.enqueue(["shop"]);
    await clock.advance(50);
    expect(reconciles.slice(4)).toEqual([1000, 1050]);
  },
);

test("a defect around a reconcile is logged, and the object is retried", async () => {
  const { clock, stop, reconciles, lines, metrics } = running(() => undefined);
  const observe = metrics.reconcileSeconds.observe.bind(metrics.reconcileSeconds);
  let defects = 2;
  metrics.reconcileSeconds.observe = (...given) => {
    defects -= 1;
    if (defects >= 0) throw new TypeError("a defect of the operator");
    observe(...given);
  };
  await clock.advance(60_000);
  expect(reconciles).toHaveLength(3);
  expect(lines.filter((line) => line.includes("a defect of the operator"))).toHaveLength(2);
  stop.abort();
});
