import { describe, expect, test } from "vitest";
import type { ListedBranch } from "../../../../src/api/branch.ts";
import type { EndWrite } from "../../../../src/operator/branch/memory.ts";
import {
  fallsFreeSoon,
  isLate,
  isSameEnd,
  renewalInMs,
  wantedEnd,
} from "../../../../src/operator/branch/plan/expiry.ts";
import { uidOf } from "../../../support/builders.ts";
import {
  type BranchFields,
  branch,
  day,
  hour,
  inMs,
  listed,
  madeBy,
  minute,
  now,
  observation,
  planned,
  type Seen,
  second,
  sentEnd,
  serviceNow,
  shows,
} from "../builders.ts";

/** The furthest end that the service takes. */
const furthest = inMs(30 * day - minute);

const lasting = (expiry: object, fields: BranchFields = {}) =>
  branch({ linked: "br-one", ...fields, spec: { expiry, ...fields.spec } });
const ending = (ms: number | undefined) => ({
  branches: [listed(ms === undefined ? {} : { expires_at: inMs(ms) })],
});
const sends = (end: string | null, why: string) => ({
  kind: "write",
  write: { op: "patch", id: "br-one", why, body: { expires_at: end } },
});

describe("the end that a spec asks for", () => {
  test.each([
    ["never", { never: true }, undefined],
    ["counted from now", { after: "72h" }, inMs(72 * hour)],
    ["a lease from now", { lease: "24h" }, inMs(24 * hour)],
    ["that time", { at: inMs(hour) }, inMs(hour)],
    ["in whole seconds", { at: "2026-01-10T01:00:00.999Z" }, "2026-01-10T01:00:00Z"],
    ["by UTC", { at: "2026-01-10T02:00:00+01:00" }, "2026-01-10T01:00:00Z"],
    ["30 days less a minute ahead at most, after", { after: "720h" }, furthest],
    ["30 days less a minute ahead at most, by lease", { lease: "720h" }, furthest],
    ["30 days less a minute ahead at most, at a time", { at: "2027-01-01T00:00:00Z" }, furthest],
  ])("the end is %s: %j", (_, expiry, at) => {
    expect(wantedEnd(lasting(expiry), serviceNow)).toMatchObject({ kind: "end", end: { at } });
  });

  test.each([
    [0, "past"],
    [-hour, "past"],
    [second, "end"],
  ])("a time %i ms from now is taken for the %s", (ms, kind) => {
    expect(wantedEnd(lasting({ at: inMs(ms) }), serviceNow)).toMatchObject({ kind });
  });
});

test.each([
  [undefined, undefined, true],
  [inMs(0), undefined, false],
  [undefined, inMs(0), false],
  [inMs(0), inMs(0), true],
  ["2026-01-10T00:00:00.000Z", "2026-01-10T00:00:01.000Z", true],
  ["2026-01-10T00:00:01.000Z", "2026-01-10T00:00:00.000Z", true],
  ["2026-01-10T00:00:00.000Z", "2026-01-10T00:00:01.001Z", false],
  ["2026-01-10T00:00:01.001Z", "2026-01-10T00:00:00.000Z", false],
])("the ends %s and %s are the same: %s", (one, other, isSame) => {
  expect(isSameEnd(one, other)).toBe(isSame);
});

describe("an expiry that differs from the applied one", () => {
  const changed = { status: { appliedExpiry: "never" } };

  test.each([
    ["after", { after: "72h" }, inMs(72 * hour)],
    ["lease", { lease: "24h" }, inMs(24 * hour)],
    ["at", { at: inMs(5 * hour) }, inMs(5 * hour)],
  ])("%s is sent", (_, expiry, end) => {
    expect(planned({ object: lasting(expiry, changed), ...ending(hour) })).toMatchObject(sends(end, "expiry"));
  });

  test("no end is sent as null, and taken for sent where the branch has none", () => {
    const object = lasting({ never: true }, { status: { appliedExpiry: "after 72h" } });
    expect(planned({ object, ...ending(hour) })).toMatchObject(sends(null, "expiry"));
    expect(planned({ object })).toEqual({ kind: "note", news: { appliedExpiry: "never", appliedEnd: undefined } });
  });

  test("a time that is over is not sent", () => {
    const past = lasting({ at: inMs(-hour) }, changed);
    expect(planned({ object: past, ...ending(hour) })).toEqual(shows("Rejected", `(${inMs(-hour)}) is in the past`));
  });

  test.each([
    ["adopted", { proof: { uid: uidOf("a"), branchID: "br-one", by: "adopted" } }],
    ["linked without a proof", { proof: undefined }],
  ])("no end is sent for a branch that is %s", (_, status) => {
    const object = lasting({ after: "72h" }, { status: { ...status, appliedExpiry: undefined } });
    expect(planned({ object })).toEqual(shows("Available"));
  });

  test("the end of an attempt without an answer is sent again, which may still land, as long as it is to come", () => {
    const begun = (ms: number, expiry = "after 72h") => ({
      ends: [sentEnd(expiry, inMs(ms), { openedAt: now - minute })],
    });
    const seen = { object: lasting({ after: "72h" }, changed), ...ending(hour) };
    expect(planned(seen, begun(71 * hour))).toMatchObject(sends(inMs(71 * hour), "expiry"));
    expect(planned(seen, begun(0))).toMatchObject(sends(inMs(72 * hour), "expiry"));
    expect(planned(seen, begun(71 * hour, "after 71h"))).toMatchObject(sends(inMs(72 * hour), "expiry"));
  });
});

describe("an end that the service gave the branch already", () => {
  const unapplied = { appliedExpiry: undefined };
  const created = (ms: number) => ({ created_at: inMs(ms) });

  test.each([
    ["after, from the create", { after: "72h" }, {}, { ...created(-hour), expires_at: inMs(71 * hour) }, true],
    ["lease, from the create", { lease: "24h" }, {}, { ...created(-hour), expires_at: inMs(23 * hour) }, true],
    ["after, by a minute", { after: "72h" }, {}, { ...created(-hour), expires_at: inMs(71 * hour + minute) }, true],
    [
      "more than a minute off",
      { after: "72h" },
      {},
      { ...created(-hour), expires_at: inMs(71 * hour + minute + second) },
      false,
    ],
    ["the longest", { after: "720h" }, {}, { ...created(0), expires_at: furthest }, true],
    ["none", { after: "72h" }, {}, created(-hour), false],
    [
      "without a time of the create",
      { after: "72h" },
      {},
      { expires_at: inMs(71 * hour), created_at: undefined },
      false,
    ],
    ["at that time", { at: inMs(hour) }, {}, { expires_at: inMs(hour) }, true],
    ["at another time", { at: inMs(hour) }, {}, { expires_at: inMs(2 * hour) }, false],
    ["at that time, after a reset", { at: inMs(hour) }, { resetAt: "1" }, { expires_at: inMs(hour) }, false],
    [
      "from the create, after a reset",
      { after: "72h" },
      { resetAt: "1" },
      { ...created(-hour), expires_at: inMs(71 * hour), last_reset_at: inMs(-minute) },
      false,
    ],
    [
      "from the reset",
      { after: "72h" },
      { resetAt: "1" },
      { ...created(-hour), expires_at: inMs(72 * hour - minute), last_reset_at: inMs(-minute) },
      true,
    ],
    [
      "of an expiry that has changed since",
      { after: "72h" },
      { appliedExpiry: "after 1h" },
      { ...created(-hour), expires_at: inMs(71 * hour) },
      false,
    ],
  ])("an end is recorded and not sent again: %s", (_, expiry, status, seen: Partial<ListedBranch>, isMadeSo) => {
    const object = lasting(expiry, { status: { ...unapplied, ...status } });
    expect(planned({ object, branches: [listed(seen)] })).toMatchObject(
      isMadeSo ? { kind: "note", news: { appliedEnd: seen.expires_at } } : { write: { op: "patch", why: "expiry" } },
    );
  });
});

describe("the renewal of a lease", () => {
  const leased = (ms: number, fields: BranchFields = {}): Seen => ({
    object: lasting({ lease: "24h" }, { status: { appliedEnd: inMs(ms) }, ...fields }),
    ...ending(ms),
  });
  const renews = sends(inMs(24 * hour), "renewal");
  const rest = shows("Available");

  test.each([
    ["0000", 12 * hour],
    ["8000", 10.5 * hour],
    ["ffff", 9 * hour],
    ["text", 12 * hour],
  ])("the renewal of an object whose uid begins with %s is due %i ms before the end", (begins, ms) => {
    const uid = `${begins}${uidOf("a").slice(4)}`;
    expect(planned(leased(ms - second, { uid }))).toMatchObject(renews);
    expect(planned(leased(ms + second, { uid }))).toEqual(rest);
    expect(renewalInMs(observation(leased(ms + hour, { uid })))).toBeCloseTo(hour, -3);
    expect(renewalInMs(observation(leased(ms - hour, { uid })))).toBe(0);
  });

  test.each([
    ["after has none", { after: "72h" }, undefined],
    ["never has none", { never: true }, undefined],
    ["at has none where it can be sent at once", { at: inMs(hour) }, undefined],
    ["at has one where it lies beyond the furthest end", { at: inMs(40 * day) }, 15 * day - minute / 2],
  ])("an expiry %s", (_, expiry, ms) => {
    const object = lasting(expiry, { status: { appliedEnd: furthest } });
    expect(renewalInMs(observation({ object, branches: [listed({ expires_at: furthest })] }))).toBe(ms);
  });

  test("a time beyond the furthest end is brought nearer by and by", () => {
    const applied = inMs(14 * day);
    const object = lasting({ at: inMs(40 * day) }, { status: { appliedEnd: applied } });
    expect(planned({ object, branches: [listed({ expires_at: applied })] })).toMatchObject(sends(furthest, "renewal"));
  });

  test.each([
    ["no branch of ours", leased(hour, { status: { appliedEnd: inMs(hour), proof: undefined } })],
    ["a branch whose end a person changed", { ...leased(hour), ...ending(30 * day) }],
    ["a branch that is missing", { ...leased(hour), branches: [] }],
  ])("a renewal is due for %s: never", (_, seen) => {
    expect(renewalInMs(observation(seen))).toBeUndefined();
    expect(planned(seen)).not.toMatchObject({ kind: "write" });
  });

  test("no renewal is due while the service shows no end: that is sent first", () => {
    const object = lasting({ lease: "24h" }, { status: { appliedExpiry: "never" } });
    expect(renewalInMs(observation({ object, branches: [listed()] }))).toBeUndefined();
  });

  test("a lease is renewed while its object is paused, and nothing else is sent then", () => {
    const paused = { annotations: { paused: "true" } };
    expect(planned(leased(hour, paused))).toMatchObject(renews);
    expect(planned(leased(23 * hour, paused))).toEqual(shows("Paused"));
    expect(planned(leased(hour, { ...paused, deleting: true }))).toEqual(shows("Paused"));
    const changed = lasting({ after: "72h" }, { ...paused, status: { appliedExpiry: "never" } });
    expect(planned({ object: changed })).toEqual(shows("Paused"));
  });

  test.each([
    [{ lease: "24h" }, 6 * hour, {}, true],
    [{ lease: "24h" }, 6 * hour + second, {}, false],
    [{ after: "24h" }, hour, {}, false],
    [{ lease: "24h" }, hour, { gone: { branchID: "br-one", how: "Expired", expiry: "lease 24h" } }, false],
  ])("the lease of %j that ends in %i ms with %j concerns a person: %s", (expiry, ms, status, isWarned) => {
    expect(isLate(lasting(expiry, { status: { expiresAt: inMs(ms), ...status } }), serviceNow)).toBe(isWarned);
  });

  test("a lease without a known end concerns nobody", () => {
    expect(isLate(lasting({ lease: "24h" }), serviceNow)).toBe(false);
  });

  test.each([
    [day, true],
    [day + second, false],
    [undefined, false],
  ])("a taken name that falls free in %s ms concerns a person: %s", (ms, isWarned) => {
    const status = ms === undefined ? {} : { takenUntil: inMs(ms) };
    expect(fallsFreeSoon(branch({ status }), serviceNow)).toBe(isWarned);
  });
});

describe("an end at the service that is not the applied one", () => {
  const applied = (expiry: object, ms: number | undefined, fields: BranchFields = {}) =>
    lasting(expiry, { ...fields, status: { appliedEnd: ms === undefined ? undefined : inMs(ms), ...fields.status } });
  const drifts = shows("Drifted", "The end of the branch was changed");

  test.each([
    ["a later end", applied({ after: "72h" }, hour), 2 * hour, drifts],
    ["no end", applied({ after: "72h" }, hour), undefined, shows("Drifted", `from ${inMs(hour)} to never`)],
    ["an end where there was none", applied({ never: true }, undefined), hour, shows("Drifted", "from never to")],
    ["another time", applied({ at: inMs(2 * hour) }, 2 * hour), hour, drifts],
    ["an end far before an interval's", applied({ after: "72h" }, 71 * hour), 70 * hour, drifts],
    [
      "an end by more than a request's time before",
      applied({ after: "72h" }, 71 * hour),
      71 * hour - minute - 2 * second,
      drifts,
    ],
    [
      "an end by a request's time before an interval's",
      applied({ after: "72h" }, 71 * hour),
      71 * hour - minute,
      shows("Available"),
    ],
    ["an end of an earlier renewal", applied({ lease: "24h" }, 20 * hour), 19 * hour, shows("Available")],
    ["an end of a renewal without an answer", applied({ lease: "24h" }, 20 * hour), 24 * hour, shows("Available")],
    ["an end that no renewal can have sent", applied({ lease: "24h" }, 20 * hour), 24 * hour + 2 * second, drifts],
    ["no end of a lease", applied({ lease: "24h" }, 20 * hour), undefined, drifts],
    [
      "an end that was a person's decision before, and could be a renewal's by now",
      applied({ lease: "24h" }, 20 * hour, { shows: "Drifted", status: { expiresAt: inMs(23 * hour) } }),
      23 * hour,
      drifts,
    ],
    [
      "an end that came after a person's decision",
      applied({ lease: "24h" }, 20 * hour, { shows: "Drifted", status: { expiresAt: inMs(25 * hour) } }),
      23 * hour,
      shows("Available"),
    ],
  ])("%s is kept", (_, object, ms, expected) => {
    expect(planned({ object, ...ending(ms) })).toEqual(expected);
  });

  test.each([
    ["a branch that is not ours", { proof: undefined }],
    ["a branch that was given no end yet", { appliedExpiry: undefined }],
  ])("the end of %s is no drift", (_, status) => {
    const object = applied({ never: true }, undefined, { status });
    expect(planned({ object, branches: [listed({ expires_at: inMs(hour) })] })).not.toMatchObject({
      reason: "Drifted",
    });
  });

  test("a renewal is not sent over a person's decision", () => {
    expect(planned({ object: applied({ lease: "24h" }, hour), ...ending(25 * hour) })).toEqual(drifts);
    expect(planned({ object: applied({ lease: "24h" }, hour), ...ending(undefined) })).toEqual(drifts);
    const decided = { shows: "Drifted", status: { expiresAt: inMs(10 * hour) } };
    expect(planned({ object: applied({ lease: "24h" }, 20 * hour, decided), ...ending(10 * hour) })).toEqual(drifts);
  });
});

describe("an end of ours that lands late, after another expiry was applied", () => {
  const late = (sentMsAgo: number, ms = 72 * hour) => ({
    ends: [sentEnd("after 72h", inMs(ms), { openedAt: now - sentMsAgo })],
  });
  const object = lasting({ after: "1h" }, { status: { appliedEnd: inMs(hour) } });
  /** The settle time, and what lists may be apart. */
  const shown = 180 * second;

  test.each([
    ["is replaced by the present one", late(shown - 1), sends(inMs(hour), "expiry")],
    ["is a person's decision where no request can be so late", late(shown), shows("Drifted")],
    ["is a person's decision where another end was sent", late(0, 71 * hour), shows("Drifted")],
    ["is a person's decision where none was sent", {}, shows("Drifted")],
  ])("the end %s", (_, remembered, expected) => {
    expect(planned({ object, ...ending(72 * hour) }, remembered)).toMatchObject(expected);
  });

  test("nothing is sent where the service shows the applied end", () => {
    expect(planned({ object, ...ending(hour) }, late(0, hour))).toEqual(shows("Available"));
  });

  test("nothing can be sent in its place where the spec's time is over", () => {
    const past = lasting({ at: inMs(-second) }, { status: { appliedEnd: inMs(-second) } });
    expect(planned({ object: past, ...ending(72 * hour) }, late(0))).toEqual(shows("Drifted"));
  });

  test("an expiry that is not applied yet is sent as such", () => {
    const changed = lasting({ after: "1h" }, { status: { appliedExpiry: "never" } });
    expect(planned({ object: changed, ...ending(72 * hour) }, late(0))).toMatchObject(sends(inMs(hour), "expiry"));
  });
});

describe("an end that was accepted and that the answer did not show", () => {
  const object = lasting({ after: "72h" }, { status: { appliedExpiry: "never" } });
  const unseen = (fields: Partial<EndWrite> = {}, expiry = "after 72h") => ({
    ends: [sentEnd(expiry, inMs(72 * hour), { closedAt: now - 30 * second, ...fields })],
  });
  const waits = (afterMs: number) => ({ kind: "noop", afterMs });

  test("an end that a list shows is recorded as applied", () => {
    expect(planned({ object, ...ending(72 * hour) }, unseen())).toEqual({
      kind: "note",
      news: { appliedExpiry: "after 72h", appliedEnd: inMs(72 * hour) },
    });
  });

  test("an end without an answer that a list shows is recorded as applied, and not sent again", () => {
    const open = { ends: [sentEnd("after 72h", inMs(72 * hour))] };
    expect(planned({ object, ...ending(72 * hour) }, open)).toEqual({
      kind: "note",
      news: { appliedExpiry: "after 72h", appliedEnd: inMs(72 * hour) },
    });
  });

  test("a renewal without an answer that a list shows is recorded as applied, so it is no person's decision", () => {
    const renewed = lasting({ at: inMs(48 * 24 * hour) }, { status: { appliedEnd: inMs(10 * 24 * hour) } });
    const expiry = renewed.status.appliedExpiry ?? "";
    const open = { ends: [sentEnd(expiry, inMs(29 * 24 * hour))] };
    const seen = { object: renewed, ...ending(29 * 24 * hour) };
    expect(planned(seen, open)).toEqual({
      kind: "note",
      news: { appliedExpiry: expiry, appliedEnd: inMs(29 * 24 * hour) },
    });
    expect(planned(seen)).toEqual(shows("Drifted"));
  });

  test.each([
    ["was answered", unseen()],
    ["may still be carried out", { ends: [sentEnd("after 72h", inMs(72 * hour))] }],
  ])("an end that %s is recorded as applied once, and a person's decision after that counts", (_, remembered) => {
    const applied = lasting({ after: "72h" }, { status: { appliedEnd: inMs(72 * hour) } });
    expect(planned({ object: applied, ...ending(72 * hour) }, remembered)).toEqual(shows("Available"));
    expect(planned({ object: applied, ...ending(90 * hour) }, remembered)).toEqual(shows("Drifted"));
  });

  test.each([
    ["is waited for until a list differs", unseen(), waits(10 * second)],
    ["is waited for while lists may lag", unseen({ differsSince: now - 4 * second }), waits(6 * second)],
    [
      "is ignored by the service once lists agree",
      unseen({ differsSince: now - 10 * second }),
      shows("Rejected", "does not show it"),
    ],
    [
      "is sent again after a minute",
      unseen({ differsSince: 0, closedAt: now - minute }),
      sends(inMs(72 * hour), "expiry"),
    ],
    [
      "is sent again after two minutes the second time",
      unseen({ differsSince: 0, closedAt: now - 2 * minute + 1, unseen: 2 }),
      shows("Rejected"),
    ],
    [
      "is sent again at most hourly",
      unseen({ differsSince: 0, closedAt: now - hour, unseen: 21 }),
      sends(inMs(72 * hour), "expiry"),
    ],
    ["of another expiry says nothing of this one", unseen({}, "after 71h"), sends(inMs(72 * hour), "expiry")],
  ])("an end %s", (_, remembered, expected) => {
    expect(planned({ object, ...ending(hour) }, remembered)).toMatchObject(expected);
  });
});

test("the note of a branch counts for its end as a proof does", () => {
  const object = branch({
    spec: { expiry: { after: "72h" } },
    status: { branchID: "br-one", proof: { uid: uidOf("a"), branchID: "br-one", by: "created" } },
  });
  expect(planned({ object, branches: [madeBy(object)] })).toMatchObject(sends(inMs(72 * hour), "expiry"));
});
