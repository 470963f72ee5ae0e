import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import type { ReadonlyState } from "../../../src/operator/compute/memory.ts";
import { plan } from "../../../src/operator/compute/plan/plan.ts";
import { fallsDueAt } from "../../../src/operator/compute/requeue.ts";
import {
  type ComputeFields,
  compute,
  type InputFields,
  input,
  madeBy,
  now,
  openSince,
} from "../../support/builders.ts";

/** All about a linked Compute at rest, as this endpoint and these other facts show it. */
function seen(fields: ComputeFields, shown: Partial<Endpoint> = {}, rest: InputFields = {}) {
  const self = compute({ linked: "ep-one", shows: "Active", ...fields });
  return input({ compute: self, endpoints: [madeBy(self, shown)], ...rest });
}

const remembering = (state: Partial<ReadonlyState>) => ({ state });
const settlesAt = (openedAt: number) => openedAt + 70_000;

describe("the record of a write falls due", () => {
  const at = now - 5000;
  const move = { operation: "move", branchID: "br-before", to: "br-main" } as const;
  const restart = { operation: "restart", endpointID: "ep-one", value: "second" } as const;

  test.each<[string, ReadonlyState["write"], number]>([
    ["of a restart that no annotation asks for, once it settles", openSince(at, restart), settlesAt(at)],
    ["of a move without an answer, once it settles", openSince(at, move), settlesAt(at)],
    [
      "of a move that lists show, once none that lags shows the branch before",
      openSince(at, move, "ep-one"),
      at + 10_000,
    ],
    ["of a move of another endpoint, once it settles", openSince(at, move, "ep-two"), settlesAt(at)],
    ["of a create that another endpoint of ours was listed for, after 10 s", openSince(at, {}, "ep-two"), at + 10_000],
  ])("the record %s", (_, write, expected) => {
    expect(fallsDueAt(...seen({}, {}, remembering({ write })))).toBe(expected);
  });

  test.each<[string, ReadonlyState["write"], number]>([
    ["a create", openSince(at), settlesAt(at)],
    ["a takeover", openSince(at, { operation: "takeover", endpointID: "ep-one" }), settlesAt(at)],
    ["a move of an endpoint that is gone", openSince(at, move, "ep-one"), settlesAt(at)],
  ])("the record of %s settles where nothing of ours is listed", (_, write, expected) => {
    expect(fallsDueAt(...input({ state: { write } }))).toBe(expected);
  });

  test("a takeover falls due 10 s after the first list with our name", () => {
    const takeover = openSince(at, { operation: "takeover", endpointID: "ep-one" });
    const write = { ...takeover, firstShown: new Map([["ep-one", now - 3000]]) };
    expect(fallsDueAt(...seen({}, {}, remembering({ write })))).toBe(now + 7000);
  });

  test.each<[string, ReadonlyState["write"]]>([
    ["one that any list closes", openSince(at, {}, "ep-one")],
    ["one that is closed", { ...openSince(at), phase: "closed" }],
    ["one that was never sent", { ...openSince(at), phase: "unsent" }],
    ["one that this list has judged already", openSince(now - 70_100, restart)],
    ["one of a create through another base URL", openSince(at, { through: "https://other/api/v2" })],
  ])("no time matters to %s", (_, write) => {
    expect(fallsDueAt(...seen({}, {}, remembering({ write })))).toBeUndefined();
  });

  test("a record falls due whatever the plan says, and not while nothing is seen", () => {
    const write = openSince(at, { ...move, to: "br-other" }, "ep-gone");
    const blocked = seen(
      { linked: "ep-gone", spec: { adopt: { endpointID: "ep-gone" } }, status: { gone: "ep-gone" } },
      {
        id: "ep-other",
        name: "by hand",
      },
      remembering({ write }),
    );
    expect(plan(...blocked)).toMatchObject({ kind: "blocked", reason: "AdoptionRefused" });
    expect(fallsDueAt(...blocked)).toBe(settlesAt(at));
    expect(fallsDueAt(...input({ state: { write }, observation: { kind: "pending" } }))).toBeUndefined();
  });
});

describe("the note that this operator disabled an endpoint falls due", () => {
  const noted: ComputeFields = { status: { endpointID: "ep-one", branchID: "br-main", disabledByUs: true } };
  const enabled = { disabled: false };

  test.each([
    ["in the settle time and 10 s after it was seen", now - 5000, now + 65_000],
    ["at once, where the list is from before that", now - 70_000, now],
  ])("the note falls due %s", (_, disableNotedAt, expected) => {
    expect(fallsDueAt(...seen(noted, enabled, remembering({ disableNotedAt })))).toBe(expected);
  });

  test("the note falls due also where a move is blocked", () => {
    const other = madeBy(compute({ spec: { branchID: "br-next" } }), { id: "ep-two", name: "by hand" });
    const spec = { branchID: "br-next" };
    const self = compute({
      ...noted,
      linked: "ep-one",
      generation: 2,
      spec,
      status: { ...noted.status, appliedGeneration: 1 },
    });
    const endpoints = [madeBy(self, { ...enabled, branch_id: "br-main" }), other];
    const blocked = input({ compute: self, endpoints, state: { disableNotedAt: now - 5000 } });
    expect(plan(...blocked)).toMatchObject({ kind: "blocked", reason: "PrimaryExists" });
    expect(fallsDueAt(...blocked)).toBe(now + 65_000);
  });

  test.each<[string, ComputeFields, Partial<Endpoint>, number]>([
    ["a list was begun after that", noted, enabled, now - 100 - 70_000],
    ["nothing is noted", {}, enabled, now],
    ["the endpoint is still disabled", { ...noted, spec: { disabled: true } }, { disabled: true }, now],
    ["the service never shows it", noted, {}, now],
  ])("no time matters where %s", (_, fields, shown, disableNotedAt) => {
    expect(fallsDueAt(...seen(fields, shown, remembering({ disableNotedAt })))).toBeUndefined();
  });
});

test("the earliest of several things that fall due counts, as one more deletion of a duplicate", () => {
  const self = compute({ linked: "ep-one", shows: "Active", status: { endpointID: "ep-one", disabledByUs: true } });
  const endpoints = [madeBy(self, { disabled: false }), madeBy(self, { id: "ep-two" })];
  const due = (deleteMs: number, noteMs: number) => {
    const answered = { at: now - 30_000 + deleteMs, before: 0, accepted: false, proved: false, shown: 0 };
    const state = { deletes: new Map([["ep-two", answered]]), disableNotedAt: now - 70_000 + noteMs };
    return fallsDueAt(...input({ compute: self, endpoints, state }));
  };
  expect(due(6000, 7000)).toBe(now + 6000);
  expect(due(7000, 6000)).toBe(now + 6000);
});
