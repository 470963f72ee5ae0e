import { beforeEach, describe, expect, test } from "vitest";
import { ConnectionState, type Health, probeInterval } from "../../../src/operator/connection/connection-state.ts";
import { probe } from "../../../src/operator/connection/probe.ts";
import type { ServiceClient } from "../../../src/operator/service-client/client.ts";
import type { ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { clientOf, json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const minute = 60_000;
const accepted = () => json(200, { account_id: "acc", auth_method: "api_key_org" });
const refused = { kind: "unauthorized", message: "revoked" } as const;
const unavailable = { kind: "unavailable", message: "HTTP 500" } as const;

let clock: VirtualClock;
let stop: AbortController;
let state: ConnectionState;
let client: ServiceClient;
let changes: number;
let used: Set<string>;
let projects: () => ServiceResponse | Promise<ServiceResponse>;
let auth: () => ServiceResponse | Promise<ServiceResponse>;

function startProbe(): void {
  void probe({ state, client, organizationID: undefined, signal: stop.signal, onEnd: () => (changes += 1) });
}

/** A probe has been due and has ended. */
async function probed(): Promise<void> {
  await clock.advance(state.probeInMs ?? 0);
  startProbe();
  await clock.settle();
}

beforeEach(() => {
  clock = new VirtualClock();
  stop = new AbortController();
  changes = 0;
  used = new Set();
  auth = accepted;
  projects = () => json(200, { projects: [] });
  const service = new ScriptedService(({ path }) => (path === "/auth" ? auth() : projects()));
  client = clientOf(service, clock, {
    onFailure: (failure) => state.failed(failure),
    onAccepted: () => state.accepted(),
  });
  state = new ConnectionState({
    clock,
    budget: { closedForMs: 0, onPause: () => () => {} },
    onChange: () => {
      changes += 1;
    },
    isUsed: (projectID) => used.has(projectID),
  });
});

describe("a key that other requests find refused", () => {
  const refuse = async () => {
    expect(state.failed(refused).kind).toBe("refusedOnce");
    await clock.advance(5000);
    expect(state.failed(refused).kind).toBe("unauthorized");
  };

  test("a refused key is probed a minute after it was refused, however long ago the last probe was", async () => {
    await probed();
    await clock.advance(5 * minute);
    await refuse();
    expect([state.health.kind, state.probeInMs]).toEqual(["unauthorized", minute]);
  });

  test("a refused key is probed as soon after many probes that succeeded", async () => {
    for (let n = 0; n < 5; n += 1) await probed();
    await refuse();
    expect(state.probeInMs).toBe(minute);
  });

  test("a refused key is probed as soon after a time without answers that a probe has ended", async () => {
    const answered = projects;
    projects = () => refusal(500);
    for (let n = 0; n < 6; n += 1) await probed();
    projects = answered;
    await probed();
    await refuse();
    expect(state.probeInMs).toBe(minute);
  });

  test("a refused key is probed as soon after a time without answers that a list has ended", async () => {
    projects = () => refusal(500);
    for (let n = 0; n < 6; n += 1) await probed();
    expect([state.health.kind, (state.probeInMs ?? 0) > 5000]).toEqual(["unreachable", true]);
    state.listed();
    expect(state.health.kind).toBe("reachable");
    await refuse();
    expect(state.probeInMs).toBe(minute);
  });

  test("a service is not reachable where /auth is missing and the list of projects is refused", async () => {
    auth = () => refusal(404, "this route does not exist");
    projects = () => refusal(401, "revoked");
    await probed();
    expect(state.health.kind).toBe("unknown");
    await probed();
    expect(state.health.kind).toBe("unauthorized");
  });
});

describe("a request that fails", () => {
  test.each([
    ["unavailable", 29_999, false],
    ["unavailable", 30_000, true],
    ["ambiguous", 30_000, true],
    ["notFound", 30_000, false],
    ["busy", 30_000, false],
  ] as const)(
    "a request that fails as %s, %i ms after the last probe, brings the next one forward: %s",
    async (kind, ms, isDue) => {
      await probed();
      await clock.advance(ms);
      const before = changes;
      for (let n = 0; n < 3; n += 1) state.failed({ kind, message: "no" });
      expect([state.probeInMs === 0, changes - before]).toEqual([isDue, isDue ? 1 : 0]);
    },
  );

  test("a failing request brings no probe forward while the service is known not to answer: its probes have their own pace", async () => {
    projects = () => refusal(500);
    for (let n = 0; n < 6; n += 1) await probed();
    const due = state.probeInMs ?? 0;
    expect(due).toBeGreaterThan(31_000);
    await clock.advance(31_000);
    state.failed(unavailable);
    expect(state.probeInMs).toBe(due - 31_000);
  });

  test("a failing request brings no probe forward while one runs, however long that takes", async () => {
    await probed();
    const slowly = (answer: ServiceResponse) =>
      new Promise<ServiceResponse>((resolve) => clock.after(4000, () => resolve(answer)));
    auth = () => slowly(accepted());
    await clock.advance(state.probeInMs ?? 0);
    // A list of projects may have many pages.
    let page = 0;
    projects = () => {
      page += 1;
      return slowly(
        json(200, { projects: [{ id: `p-${page}` }], ...(page < 12 && { pagination: { cursor: `${page}` } }) }),
      );
    };
    startProbe();
    await clock.advance(40_000);
    expect(state.probeInMs).toBeUndefined();
    state.failed(unavailable);
    await clock.advance(20_000);
    expect([state.probeInMs, state.projects?.length]).toEqual([9 * minute, 12]);
  });
});

describe("the kind of a key", () => {
  test("the kind of a key becomes project with a refusal that names its project, and is reported once", async () => {
    await probed();
    const before = changes;
    state.failed({ kind: "forbidden", message: "not allowed" });
    expect([state.keyType, changes - before]).toEqual(["organization", 0]);
    const message =
      'not allowed to perform actions outside the project this key is scoped to; subject_project_id:"shop"';
    for (let n = 0; n < 2; n += 1) state.failed({ kind: "forbidden", message });
    expect([state.keyType, changes - before]).toEqual(["project", 1]);
  });
});

describe("a list of projects", () => {
  const shows = (kind: "forbidden" | "unavailable", id: string) =>
    state.projectsShow({ kind, message: `no, request ${id}` }, undefined);

  test("a refused list of projects keeps its message where the service only changes a counter or a request id in it", () => {
    shows("forbidden", "a1");
    shows("forbidden", "b2");
    expect([state.health.kind, state.unlisted?.message]).toEqual(["reachable", "no, request a1"]);
  });

  test("a service that is not reachable keeps its message too, and no refusal is shown then", () => {
    shows("unavailable", "c3");
    shows("unavailable", "d4");
    expect([state.health, state.unlisted]).toEqual([{ kind: "unreachable", message: "no, request c3" }, undefined]);
  });
});

describe("a list of endpoints", () => {
  test("a list of endpoints does not make a service reachable that was not probed yet: the key may belong to another", () => {
    state.listed();
    expect([state.health.kind, changes]).toEqual(["unknown", 0]);
  });

  test("a list of endpoints reports once that a service answers again", async () => {
    projects = () => refusal(500);
    for (let n = 0; n < 3; n += 1) await probed();
    const before = changes;
    state.listed();
    state.listed();
    expect([state.health.kind, changes - before]).toEqual(["reachable", 1]);
  });
});

test("the organization of a project that is used is remembered while the service does not list it, and of no other", async () => {
  used.add("shop");
  projects = () =>
    json(200, {
      projects: [
        { id: "shop", org_id: "org-a" },
        { id: "blog", org_id: "org-b" },
      ],
    });
  await probed();
  expect(["shop", "blog"].map((id) => state.organizationOf(id))).toEqual(["org-a", "org-b"]);
  projects = () => json(200, { projects: [] });
  await probed();
  expect(["shop", "blog"].map((id) => state.organizationOf(id))).toEqual(["org-a", undefined]);
});

test("the end of each probe is reported, also where it found nothing new: the next one is to be planned", async () => {
  await probed();
  const before = changes;
  await probed();
  expect(changes - before).toBe(1);
});

test("a probe of a session that ended meanwhile reports nothing", async () => {
  auth = () =>
    new Promise((resolve) => {
      clock.after(1000, () => resolve(accepted()));
    });
  startProbe();
  await clock.settle();
  const before = changes;
  stop.abort();
  await clock.advance(minute);
  expect([changes - before, state.probeInMs === undefined]).toEqual([0, false]);
});

test("a key of one project stays one, whatever kind /auth reports: it calls such a key an organization's", () => {
  const shown = (methods: readonly string[]) =>
    methods.map((method) => {
      state.authShows(method);
      return state.keyType;
    });
  expect(shown(["other", "api_key_user", "other", "api_key_org"])).toEqual([
    "unknown",
    "personal",
    "personal",
    "organization",
  ]);
  state.failed({ kind: "forbidden", message: 'subject_project_id:"shop"' });
  expect(shown(["api_key_org", "api_key_user", "other"])).toEqual(["project", "project", "project"]);
});

test.each([
  ["unknown", [10_000, 10_000, 10_000]],
  ["reachable", [600_000, 600_000, 600_000]],
  ["unreachable", [5000, 5000, 10_000, 20_000, 40_000, 60_000, 60_000]],
  ["unauthorized", [60_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000]],
] as const)("the probe of a service that is %s follows after 0, 1, 2 … failed probes in %j ms", (kind, expected) => {
  const health: Health = kind === "unknown" || kind === "reachable" ? { kind } : { kind, message: "no" };
  expect(expected.map((_, failed) => probeInterval(health, failed))).toEqual(expected);
});
