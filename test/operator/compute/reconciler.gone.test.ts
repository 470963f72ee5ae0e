import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { signatureOfUID } from "../../../src/operator/resources/signature.ts";
import { NoResponseError } from "../../../src/operator/service-client/transport.ts";
import { endpoint as madeByHand } from "../../support/builders.ts";
import { json } from "../../support/scripted-service.ts";
import { replaced, setUp } from "./reconciling.ts";

describe("a Compute that is gone without the operator's finalizer", () => {
  const gone = async (
    more: Parameters<typeof setUp>[1] = {},
    fields: Parameters<typeof setUp>[0] = {},
    standing: readonly Endpoint[] = [],
  ) => {
    const leftBehind: string[] = [];
    const one = await setUp(fields, { ...more, onLeftBehind: (_, what) => void leftBehind.push(what) });
    for (const each of standing) one.reach.endpoints.set(each.id, each);
    await one.run(20_000);
    const last = one.self();
    if (last === undefined) throw new Error("it is not there");
    const warnings = () => one.reach.reported.filter((each) => each.startsWith("Warning Released"));
    return { ...one, last, leftBehind, warnings };
  };

  test("leaves its endpoint, which a Warning and the log name", async () => {
    const { reach, reconciler, cache, last, run, leftBehind, warnings } = await gone();
    reach.write([{ op: "remove", path: "/metadata/finalizers" }]);
    reach.removeStored();
    cache.seen = undefined;
    reconciler.gone(replaced(last));
    reach.sent();
    await run(60_000);
    expect(leftBehind).toEqual(["ep-1"]);
    expect(warnings()).toEqual([expect.stringContaining("ep-1")]);
    expect(reach.endpoints.size).toBe(1);
    expect(reach.sent()).toEqual([]);
  });

  test("leaves what an open create may still make, which a Warning names by our signature", async () => {
    const { reach, reconciler, run, self, uid } = await setUp({}, { onLeftBehind: (_, what) => void named.push(what) });
    const named: string[] = [];
    reach.answer = ({ method }) => {
      if (method === "POST") throw new NoResponseError("reset");
      return undefined;
    };
    await run(2000);
    const last = self();
    if (last !== undefined) reconciler.gone(replaced(last));
    expect(named).toEqual([signatureOfUID(uid)]);
  });

  test.each<[string, ...Parameters<typeof gone>]>([
    ["was to keep its endpoint", {}, { spec: { deletionPolicy: "Retain" } }],
    ["was to keep what it adopted, by default", {}, { spec: { adopt: { endpointID: "ep-one" } } }, [madeByHand()]],
    ["another process selects", { selects: () => false }, {}],
  ])("warns of nothing where it %s", async (_, ...fields) => {
    const { reconciler, last, warnings, leftBehind } = await gone(...fields);
    reconciler.gone(replaced(last));
    expect([warnings(), leftBehind]).toEqual([[], []]);
  });

  test("warns of nothing more where this operator released it", async () => {
    let going = false;
    const uninstalling = { now: () => Promise.resolve(going), lately: () => Promise.resolve(going) };
    const { reach, reconciler, last, run, leftBehind } = await gone({ uninstalling });
    going = true;
    reach.removeStored();
    await run(5000);
    reconciler.gone(replaced(last));
    expect(leftBehind).toEqual([]);
    expect(reach.endpoints.size).toBe(1);
  });

  test("warns of nothing where nothing was sent for it", async () => {
    const { reach, reconciler, self } = await setUp();
    const last = self();
    if (last !== undefined) reconciler.gone(replaced(last));
    expect(reach.reported).toEqual([]);
  });
});

describe("an endpoint that is proved gone", () => {
  test("proves nothing of another one that a person links meanwhile, and that lists do not show yet", async () => {
    const { reach, clock, run, self, shown } = await setUp();
    await run(20_000);
    const { name: _, ...made } = reach.endpoints.get("ep-1") ?? madeByHand();
    reach.endpoints.delete("ep-1");
    const byHand = { ...made, id: "ep-9" };
    let isLinked = false;
    reach.answer = ({ method, path }) => {
      if (method === "GET" && path.endsWith("/endpoints/ep-9")) return json(200, { endpoint: byHand });
      if (method === "GET" && path.endsWith("/endpoints/ep-1") && !isLinked) {
        isLinked = true;
        clock.after(5000, () => void reach.endpoints.set("ep-9", byHand));
        reach.write([
          { op: "replace", path: "/metadata/annotations/compute-operator.dev~1endpoint-id", value: "ep-9" },
        ]);
      }
      return undefined;
    };
    reach.sent();
    await run(120_000);
    expect(isLinked).toBe(true);
    expect(reach.sent().filter((request) => request.startsWith("POST"))).toEqual([]);
    expect(self()?.status.gone).toBe("ep-1");
    expect(shown()).toBe("PrimaryExists");
  });
});

describe("a version of a Compute that is known before a reconcile", () => {
  const record = (uid: string) => ({
    uid,
    n: 1,
    by: "an-earlier-term",
    operation: "create",
    since: "2026-01-01T00:00:00Z",
    branchID: "br-main",
    through: "https://service.example.com/api/v2",
  });

  test.each([
    ["counts, though the next one drops its record", true, 1],
    ["does not count where another process selects it", false, 0],
  ])("%s", async (_, selected, expected) => {
    const { reconciler, self, reach } = await setUp({}, { selects: () => selected });
    const last = self();
    if (last === undefined) throw new Error("it is not there");
    reconciler.changed({ ...last, status: { ...last.status, pendingWrite: record(last.metadata.uid) } });
    reconciler.changed(last);
    reconciler.gone(last);
    expect(reach.reported).toHaveLength(expected);
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
  expect(reach.cluster.requests).toContainEqual(
    expect.objectContaining({ method: "PATCH", path: expect.stringMatching(/status$/) }),
  );
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
  Reflect.deleteProperty(cache, "seen");
  reach.cluster.fate = ({ method }) => (method === "PATCH" ? { kind: "status", afterMs: 0, status: 403 } : undefined);
  reach.endpoints.set(id, { ...endpoint, disabled: true });
  reach.sent();
  await run(60_000);
  expect(reach.sent()).toContain(`PATCH ${id}`);
});
