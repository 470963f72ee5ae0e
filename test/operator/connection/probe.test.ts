import { beforeEach, describe, expect, test } from "vitest";
import { Probe } from "../../../src/operator/connection/probe.ts";
import type { ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { clientOf, json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const minute = 60_000;
const accepted = () => json(200, { account_id: "acc", auth_method: "api_key_org" });
const refused = { kind: "unauthorized", message: "revoked" } as const;
const unavailable = { kind: "unavailable", message: "HTTP 500" } as const;

let clock: VirtualClock;
let stop: AbortController;
let probe: Probe;
let changes: number;
let used: Set<string>;
let projects: () => ServiceResponse | Promise<ServiceResponse>;
let auth: () => ServiceResponse | Promise<ServiceResponse>;

/** A probe has been due and has ended. */
async function probed(): Promise<void> {
  await clock.advance(probe.dueInMs ?? 0);
  probe.start();
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
  probe = new Probe({
    client: clientOf(service, clock, {
      onFailure: (failure) => probe.failed(failure),
      onAccepted: () => probe.accepted(),
    }),
    organizationID: undefined,
    clock,
    signal: stop.signal,
    onChange: () => {
      changes += 1;
    },
    isUsed: (projectID) => used.has(projectID),
  });
});

describe("a key that other requests find refused", () => {
  const refuse = async () => {
    expect(probe.failed(refused).kind).toBe("refusedOnce");
    await clock.advance(5000);
    expect(probe.failed(refused).kind).toBe("unauthorized");
  };

  test("is probed a minute after it was refused, however long ago the last probe was", async () => {
    await probed();
    await clock.advance(5 * minute);
    await refuse();
    expect([probe.health.kind, probe.dueInMs]).toEqual(["unauthorized", minute]);
  });

  test("is probed as soon after many probes that succeeded", async () => {
    for (let n = 0; n < 5; n += 1) await probed();
    await refuse();
    expect(probe.dueInMs).toBe(minute);
  });

  test("is probed as soon after a time without answers that a probe has ended", async () => {
    const answered = projects;
    projects = () => refusal(500);
    for (let n = 0; n < 6; n += 1) await probed();
    projects = answered;
    await probed();
    await refuse();
    expect(probe.dueInMs).toBe(minute);
  });

  test("is probed as soon after a time without answers that a list has ended", async () => {
    projects = () => refusal(500);
    for (let n = 0; n < 6; n += 1) await probed();
    expect([probe.health.kind, (probe.dueInMs ?? 0) > 5000]).toEqual(["unreachable", true]);
    probe.listed();
    expect(probe.health.kind).toBe("reachable");
    await refuse();
    expect(probe.dueInMs).toBe(minute);
  });

  test("is not reachable where /auth is missing and the list of projects is refused", async () => {
    auth = () => refusal(404, "this route does not exist");
    projects = () => refusal(401, "revoked");
    await probed();
    expect(probe.health.kind).toBe("unknown");
    await probed();
    expect(probe.health.kind).toBe("unauthorized");
  });
});

describe("a request that fails", () => {
  test.each([
    ["unavailable", 29_999, false],
    ["unavailable", 30_000, true],
    ["ambiguous", 30_000, true],
    ["notFound", 30_000, false],
    ["busy", 30_000, false],
  ] as const)("as %s, %i ms after the last probe, brings the next one forward: %s", async (kind, ms, isDue) => {
    await probed();
    await clock.advance(ms);
    const before = changes;
    for (let n = 0; n < 3; n += 1) probe.failed({ kind, message: "no" });
    expect([probe.dueInMs === 0, changes - before]).toEqual([isDue, isDue ? 1 : 0]);
  });

  test("brings none forward while the service is known not to answer: its probes have their own pace", async () => {
    projects = () => refusal(500);
    for (let n = 0; n < 6; n += 1) await probed();
    const due = probe.dueInMs ?? 0;
    expect(due).toBeGreaterThan(31_000);
    await clock.advance(31_000);
    probe.failed(unavailable);
    expect(probe.dueInMs).toBe(due - 31_000);
  });

  test("brings none forward while one runs, however long that takes", async () => {
    await probed();
    const slowly = (answer: ServiceResponse) =>
      new Promise<ServiceResponse>((resolve) => clock.after(4000, () => resolve(answer)));
    auth = () => slowly(accepted());
    await clock.advance(probe.dueInMs ?? 0);
    // A list of projects may have many pages.
    let page = 0;
    projects = () => {
      page += 1;
      return slowly(
        json(200, { projects: [{ id: `p-${page}` }], ...(page < 12 && { pagination: { cursor: `${page}` } }) }),
      );
    };
    probe.start();
    await clock.advance(40_000);
    expect(probe.dueInMs).toBeUndefined();
    probe.failed(unavailable);
    await clock.advance(20_000);
    expect([probe.dueInMs, probe.projects?.length]).toEqual([9 * minute, 12]);
  });
});

describe("the kind of a key", () => {
  test("becomes project with a refusal that names its project, and is reported once", async () => {
    await probed();
    const before = changes;
    probe.failed({ kind: "forbidden", message: "not allowed" });
    expect([probe.keyType, changes - before]).toEqual(["organization", 0]);
    const message =
      'not allowed to perform actions outside the project this key is scoped to; subject_project_id:"shop"';
    for (let n = 0; n < 2; n += 1) probe.failed({ kind: "forbidden", message });
    expect([probe.keyType, changes - before]).toEqual(["project", 1]);
  });
});

describe("a list of endpoints", () => {
  test("does not make a service reachable that was not probed yet: the key may belong to another", () => {
    probe.listed();
    expect([probe.health.kind, changes]).toEqual(["unknown", 0]);
  });

  test("reports once that a service answers again", async () => {
    projects = () => refusal(500);
    for (let n = 0; n < 3; n += 1) await probed();
    const before = changes;
    probe.listed();
    probe.listed();
    expect([probe.health.kind, changes - before]).toEqual(["reachable", 1]);
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
  expect(["shop", "blog"].map((id) => probe.organizationOf(id))).toEqual(["org-a", "org-b"]);
  projects = () => json(200, { projects: [] });
  await probed();
  expect(["shop", "blog"].map((id) => probe.organizationOf(id))).toEqual(["org-a", undefined]);
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
  probe.start();
  await clock.settle();
  const before = changes;
  stop.abort();
  await clock.advance(minute);
  expect([changes - before, probe.dueInMs === undefined]).toEqual([0, false]);
});
