import { describe, expect, test } from "vitest";
import { ClusterError } from "../../../src/operator/kube/errors.ts";
import type { ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { connection } from "../../support/connections.ts";
import { refusal } from "../../support/scripted-service.ts";
import { setUp } from "./reconciling.ts";

const prefix = "compute-operator.dev~1";

describe("a Compute", () => {
  test("a Compute is made, becomes ready, and is then only listed", async () => {
    const { reach, run, self, shown, steps, clock } = await setUp();
    await run(20_000);
    expect(reach.sent()).toContain("POST endpoints");
    expect(shown()).toBe("Active");
    expect(self()?.status.endpointID).toBe("ep-1");
    expect(steps).toContain("create");
    expect(steps.at(-1)).toBe("settled");
    const written = self()?.metadata.resourceVersion;
    await clock.advance(60_000);
    expect(new Set(reach.sent())).toEqual(new Set(["list"]));
    expect(self()?.metadata.resourceVersion).toBe(written);
  });

  test("a Compute whose Secret is to be read again since its reconcile began is reconciled once more", async () => {
    const at = { dueAt: 0 };
    const secrets = {
      readingDueAt: (_: string, since: number) => (at.dueAt > since ? at.dueAt : undefined),
      forget: () => {},
      keep: () => Promise.resolve({ kind: "none" } as const),
      standing: () => undefined,
      ownerless: () => [],
      remove: () => Promise.resolve([]),
      leftBehind: () => [],
      recorded: () => undefined,
      recordedNow: () => Promise.resolve(undefined),
      noteReset: async () => {},
      readSoon: () => {},
      readNow: () => {},
    };
    const { run, reconciler, uid, clock } = await setUp({}, { secrets });
    await run(60_000);
    at.dueAt = clock.monotonic() + 3;
    clock.readsTake(2);
    expect(await reconciler.reconcile(uid)).toEqual({ requeueAfterMs: 1 });
    expect(await reconciler.reconcile(uid)).toEqual({ requeueAfterMs: undefined });
  });

  test("a Compute is deleted with its endpoint, and then nothing is kept of it", async () => {
    const { reach, run, self, session, left, uid, clock } = await setUp();
    await run(20_000);
    reach.removeStored();
    await run(40_000);
    expect(self()).toBeUndefined();
    expect(reach.endpoints.size).toBe(0);
    left.length = 0;
    await run(1000);
    expect(left).toContain(uid);
    expect(session.listers.size).toBe(0);
    reach.sent();
    await clock.advance(120_000);
    expect(reach.sent()).toEqual([]);
  });

  test("a Compute that another process selects is left to that, and not listed", async () => {
    let ours = true;
    const { reach, run, session, left, uid } = await setUp({}, { selects: () => ours });
    await run(20_000);
    ours = false;
    left.length = 0;
    await run(1000);
    expect(left).toEqual([uid]);
    expect(session.listers.size).toBe(0);
    reach.sent();
    reach.write([{ op: "add", path: "/spec/disabled", value: true }]);
    await run(120_000);
    expect(reach.sent()).toEqual([]);
  });

  test("a Compute that this process selects again is reconciled without old knowledge", async () => {
    let ours = true;
    const { reach, run, session, shown } = await setUp({}, { selects: () => ours });
    await run(20_000);
    session.project("shiny-wind-028834").use("another", undefined);
    ours = false;
    await run(1000);
    ours = true;
    reach.sent();
    await run(500);
    expect(reach.sent()).toEqual(["list"]);
    expect(shown()).toBe("Active");
  });

  test("a Compute without its status keeps what it was brought to: drift that is only reported is not undone", async () => {
    const { reach, run, shown, restart, clock } = await setUp({
      spec: { driftPolicy: "Report", pooler: { enabled: false } },
    });
    await run(20_000);
    restart();
    await run(40_000);
    expect(shown()).toBe("Active");
    for (const one of reach.endpoints.values()) reach.endpoints.set(one.id, { ...one, pooler_enabled: true });
    reach.write([{ op: "replace", path: "/status", value: {} }], "/status");
    await run(100);
    await clock.advance(60_000);
    expect(reach.sent()).not.toContain("PATCH ep-1");
    expect(shown()).toBe("Drifted");
  });

  test("a Compute has its project's turn to write until its write has ended", async () => {
    const { reach, run, session, clock } = await setUp();
    const answer = Promise.withResolvers<ServiceResponse>();
    reach.answer = ({ method }) => (method === "POST" ? answer.promise : undefined);
    await run(1500);
    expect(reach.sent()).toContain("POST endpoints");
    const { writeLimiter: turn } = session.project("shiny-wind-028834");
    expect(turn.take("another")).toBe(false);
    answer.resolve(refusal(500));
    await clock.advance(100);
    expect(turn.take("another")).toBe(true);
  });

  test("a Compute that comes under this selector is left to the other process for a minute", async () => {
    const { reach, run, clock, reconciler, uid } = await setUp();
    reconciler.entered(uid, clock.monotonic());
    await clock.advance(20_000);
    expect(await reconciler.reconcile(uid)).toEqual({ requeueAfterMs: 40_000 });
    expect(reach.sent()).toEqual([]);
    await clock.advance(40_000);
    await run(20_000);
    expect(reach.sent()).toContain("POST endpoints");
  });

  test("a Compute whose connection is gone leaves its project", async () => {
    const { reach, run, session, shown } = await setUp();
    await run(20_000);
    expect(session.listers.size).toBe(1);
    reach.connections = [];
    await run(1000);
    expect(shown()).toBe("ConnectionNotFound");
    expect(session.listers.size).toBe(0);
  });

  test("a Compute that moves to a connection with another key leaves the former's project", async () => {
    const { reach, run, session } = await setUp();
    await run(20_000);
    // The former session stays, as another connection uses it.
    await reach.join(connection({ name: "sharing", uid: "connection-2" }));
    reach.rotate("another-key");
    const after = await reach.join();
    expect(after).not.toBe(session);
    await run(5000);
    expect([session.listers.size, after.listers.size]).toEqual([0, 1]);
  });

  test("a Compute is planned for on no list from before the API server's complete list", async () => {
    const { reach, run, reconciler } = await setUp();
    await run(20_000);
    reach.sent();
    reconciler.relisted();
    await run(500);
    expect(reach.sent()).toEqual(["list"]);
  });

  test("a Compute whose status was wiped before this term saw it has its edit sent 10 s later: an earlier create may be open", async () => {
    const { reach, run, restart } = await setUp();
    await run(20_000);
    reach.write([{ op: "replace", path: "/status", value: {} }], "/status");
    reach.write([{ op: "add", path: "/spec/disabled", value: true }]);
    restart();
    reach.sent();
    const changes = () => reach.sent().filter((one) => one.startsWith("PATCH"));
    await run(9000);
    expect(changes()).toEqual([]);
    await run(15_000);
    expect(changes()).toHaveLength(1);
  });

  test("a Compute whose status is wiped has its edit sent even so, also where only Report is asked for", async () => {
    const { reach, run, restart } = await setUp({ spec: { driftPolicy: "Report" } });
    await run(20_000);
    // Another process knows what was applied from the status alone.
    restart();
    await run(5000);
    reach.sent();
    reach.write([{ op: "replace", path: "/status", value: {} }], "/status");
    reach.write([{ op: "add", path: "/spec/disabled", value: true }]);
    await run(5000);
    expect(reach.sent()).toContainEqual(expect.stringMatching(/^PATCH/));
  });

  test("a Compute is created on no list from before the API server's complete list, where it appears after that", async () => {
    const { reach, run, reconciler, clock } = await setUp();
    await run(20_000);
    reach.sent();
    reconciler.relisted();
    const { uid } = reach.stored({ metadata: { name: "other" }, spec: { type: "read_only" } }).metadata;
    reach.enqueue(uid);
    await clock.advance(500);
    expect(reach.sent()[0]).toBe("list");
  });
});

describe("a write that is about to be sent", () => {
  type World = Awaited<ReturnType<typeof setUp>> & { process: { isOurs: boolean } };
  const withdrawn: [string, (one: World) => void][] = [
    ["the spec changed", ({ reach }) => reach.write([{ op: "add", path: "/spec/disabled", value: true }])],
    [
      "it was paused",
      ({ reach }) => reach.write([{ op: "add", path: `/metadata/annotations/${prefix}paused`, value: "true" }]),
    ],
    [
      "it is gone",
      ({ cache }) => {
        cache.seen = undefined;
      },
    ],
    [
      "another process came to select it",
      ({ process }) => {
        process.isOurs = false;
      },
    ],
    [
      "its connection was withdrawn",
      ({ reach }) => {
        reach.connections = [];
      },
    ],
  ];
  test.each(withdrawn)("a write is not sent where %s meanwhile", async (_, meanwhile) => {
    const process = { isOurs: true };
    const one = await setUp({ metadata: { annotations: { a: "b" } } }, { selects: () => process.isOurs });
    const { reach, run, self } = one;
    let isDone = false;
    const posted: string[] = [];
    reach.answer = ({ method, body }) => {
      if (method === "POST") posted.push(JSON.stringify(body));
      return undefined;
    };
    reach.cluster.fate = ({ method, path }) => {
      // Right after its mark.
      if (method === "PATCH" && path.endsWith("/shop") && !isDone) {
        isDone = true;
        reach.clock.after(0, () => meanwhile({ ...one, process }));
        return { kind: "answered", arriveMs: 0, replyMs: 10 };
      }
      return undefined;
    };
    await run(100);
    expect(isDone).toBe(true);
    // Only what is planned for the newer spec.
    expect(posted.filter((body) => !body.includes('"disabled":true'))).toEqual([]);
    expect(self()).toBeDefined();
  });
});

describe("what the API server does not take", () => {
  test("a refusal of the API server is reported, and the patch offered again", async () => {
    const { reach, run, shown, clock } = await setUp();
    reach.cluster.fate = ({ method, path }) =>
      method === "PATCH" && path.endsWith("/shop") ? { kind: "status", afterMs: 0, status: 403 } : undefined;
    await run(5000);
    expect(shown()).toBe("Forbidden");
    expect(reach.delays).toContain(10_000);
    expect(reach.sent()).not.toContain("POST endpoints");
    reach.cluster.fate = () => undefined;
    await clock.advance(11_000);
    expect(reach.sent()).toContain("POST endpoints");
  });

  test("a refusal of a check that the deletion needs is told as that, and the endpoint stays", async () => {
    const refused = new ClusterError({ status: 403, reason: "", message: "GET /crds: 403" });
    const ask = () => Promise.reject(refused);
    const { reach, run, self, shown } = await setUp({}, { uninstalling: { now: ask, lately: ask } });
    await run(20_000);
    reach.removeStored();
    await run(5000);
    expect([shown(), reach.endpoints.size]).toEqual(["Forbidden", 1]);
    expect(self()?.status.conditions?.[0]?.message).toContain(
      "refused a request that this Compute needs: GET /crds: 403",
    );
  });

  const afterPatchOf = async (status: 409 | 500) => {
    const { reach, uid, reconciler, clock } = await setUp();
    reach.reconcile = () => Promise.resolve({});
    await reconciler.reconcile(uid);
    await clock.advance(2000);
    reach.cluster.fate = ({ method }) => (method === "PATCH" ? { kind: "status", afterMs: 0, status } : undefined);
    const reconciled = reconciler.reconcile(uid).catch((error: unknown) => error);
    await clock.advance(10_000);
    return reconciled;
  };

  test("a failed patch is thrown where the reconcile is just to be repeated", async () => {
    expect(await afterPatchOf(500)).toMatchObject({ status: 500 });
  });

  test("an outdated version is no error: the next reconcile decides, in two seconds", async () => {
    expect(await afterPatchOf(409)).toEqual({ requeueAfterMs: 2000 });
  });
});
