import { describe, expect, test } from "vitest";
import { refusal } from "../../support/scripted-service.ts";
import { replaced, setUp } from "./reconciling.ts";

describe("a Compute that is gone although our finalizer was to hold it", () => {
  const gone = async (more: Parameters<typeof setUp>[1] = {}) => {
    const one = await setUp({}, more);
    await one.run(20_000);
    const last = one.self();
    if (last === undefined) throw new Error("it is not there");
    one.reach.sent();
    return { ...one, last };
  };

  test("has what this process made for it deleted", async () => {
    const { reach, reconciler, cache, last, run, uid, left, settled } = await gone();
    reach.write([{ op: "remove", path: "/metadata/finalizers" }]);
    reach.removeStored();
    cache.seen = undefined;
    reconciler.gone(replaced(last));
    expect(reconciler.deletedCompute(uid)?.metadata.uid).toBe(uid);
    expect(reconciler.awaitingCleanup).toHaveLength(1);
    left.length = 0;
    reach.answer = ({ method }) => (method === "DELETE" ? refusal(500) : undefined);
    await run(2000);
    expect(reach.sent()).toContain("DELETE ep-1");
    reach.answer = () => undefined;
    await run(60_000);
    expect(reach.endpoints.size).toBe(0);
    expect(reconciler.awaitingCleanup).toEqual([]);
    expect(settled).toContain(uid);
  });

  test("keeps its place at the brake", async () => {
    const left: string[] = [];
    const brake = {
      mayGo: () => false,
      isExhausted: true,
      count: () => {},
      sent: () => {},
      leave: (one: string) => void left.push(one),
    };
    const { reach, reconciler, cache, last, run } = await gone({ brake });
    cache.seen = undefined;
    reconciler.gone(replaced(last));
    await run(5000);
    left.length = 0;
    await run(5000);
    expect(left).toEqual([]);
    expect(reach.endpoints.size).toBe(1);
  });

  test("may have been made something by an earlier process, which its mark tells although no list came", async () => {
    const { reach, reconciler, cache, self, run, uid } = await setUp();
    const value = JSON.stringify({ uid, since: "2026-01-01T00:00:00Z", branchID: "br-main", through: "here" });
    reach.write([
      { op: "add", path: "/metadata/annotations", value: { "compute-operator.dev/pending-create": value } },
    ]);
    reach.connections = [];
    await run(1000);
    const last = self();
    if (last !== undefined) reconciler.gone(replaced(last));
    cache.seen = undefined;
    await run(1000);
    expect(reconciler.awaitingCleanup).toHaveLength(1);
  });

  test("is forgotten where it is seen again", async () => {
    const { reach, reconciler, last, run } = await gone();
    reconciler.gone(replaced(last));
    await run(5000);
    expect(reconciler.awaitingCleanup).toEqual([]);
    expect(reach.endpoints.size).toBe(1);
  });

  test("and was let go has nothing deleted", async () => {
    let going = false;
    const uninstalling = { now: () => Promise.resolve(going), lately: () => Promise.resolve(going) };
    const { reach, reconciler, last, run, cache } = await gone({ uninstalling });
    going = true;
    reach.removeStored();
    await run(5000);
    going = false;
    cache.seen = undefined;
    reconciler.gone(replaced(last));
    await run(60_000);
    expect(reach.endpoints.size).toBe(1);
    expect(reconciler.awaitingCleanup).toEqual([]);
  });

  test("of which this process never knew anything leaves nothing to do", async () => {
    const { reconciler, self } = await setUp();
    const last = self();
    if (last !== undefined) reconciler.gone(replaced(last));
    expect(reconciler.awaitingCleanup).toEqual([]);
  });

  test.each([
    ["is remembered where it was dropped together with the finalizer before a reconcile", true, true, false, 1],
    ["is not where the finalizer stands", true, true, true, 0],
    ["is not for a Compute that another process selects", false, true, false, 0],
    ["is not where nothing was known before", true, false, false, 0],
  ])("has a mark that %s", async (_, selected, known, guarded, expected) => {
    const { reconciler, self } = await setUp({}, { selects: () => selected });
    const last = self();
    if (last === undefined) throw new Error("it is not there");
    const { metadata } = last;
    const value = JSON.stringify({ uid: metadata.uid, since: "2026-01-01T00:00:00Z", branchID: "br-main" });
    const before = {
      ...last,
      metadata: { ...metadata, annotations: { "compute-operator.dev/pending-create": value } },
    };
    const finalizers = guarded ? ["compute-operator.dev/endpoint"] : [];
    const after = { ...last, metadata: { ...metadata, annotations: {}, finalizers } };
    reconciler.changed(after, known ? before : undefined);
    reconciler.gone(after);
    expect(reconciler.awaitingCleanup).toHaveLength(expected);
  });
});

test.each([
  ["did not find", () => {}],
  ["found replaced by another of its name", (reach: Awaited<ReturnType<typeof setUp>>["reach"]) => void reach.stored()],
])("a Compute that a patch %s has nothing sent, though the cache still shows it", async (_, then) => {
  const { reach, reconciler, cache, run, self } = await setUp({ spec: { disabled: false } });
  reach.reconcile = (one) => reconciler.reconcile(one).catch(() => ({ requeueAfterMs: 1000 }));
  await run(20_000);
  cache.seen = self();
  reach.write([{ op: "remove", path: "/metadata/finalizers" }]);
  reach.removeStored();
  then(reach);
  const [[id, endpoint] = []] = reach.endpoints;
  if (id === undefined || endpoint === undefined) throw new Error("it has no endpoint");
  reach.endpoints.set(id, { ...endpoint, current_state: "idle" });
  await run(60_000);
  expect(reach.cluster.requests.at(-1)).toMatchObject({ method: "PATCH", path: expect.stringMatching(/status$/) });
  reach.endpoints.set(id, { ...endpoint, disabled: true });
  reach.sent();
  await run(60_000);
  expect(reach.sent().filter((one) => one.startsWith("PATCH"))).toEqual([]);
  expect(reach.cluster.requests.at(-1)).toMatchObject({ method: "GET", path: expect.stringMatching(/shop$/) });
});

test("a Compute whose patch was refused as stale has its change sent once it is read, whatever patches come to", async () => {
  const { reach, reconciler, cache, run, self } = await setUp({ spec: { disabled: false } });
  reach.reconcile = (one) => reconciler.reconcile(one).catch(() => ({ requeueAfterMs: 1000 }));
  await run(20_000);
  cache.seen = self();
  reach.write([{ op: "add", path: "/metadata/labels", value: { touched: "yes" } }]);
  const [[id, endpoint] = []] = reach.endpoints;
  if (id === undefined || endpoint === undefined) throw new Error("it has no endpoint");
  reach.endpoints.set(id, { ...endpoint, current_state: "idle" });
  await run(60_000);
  reach.cluster.fate = ({ method }) => (method === "PATCH" ? { kind: "status", afterMs: 0, status: 403 } : undefined);
  reach.endpoints.set(id, { ...endpoint, disabled: true });
  reach.sent();
  await run(60_000);
  expect(reach.sent()).toContain(`PATCH ${id}`);
});
