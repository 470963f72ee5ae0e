import { describe, expect, test } from "vitest";
import { identityOf } from "../../../../src/operator/branch/action.ts";
import { generationOf } from "../../../../src/operator/objects/object.ts";
import { uidOf } from "../../../support/builders.ts";
import { branch, day, hour, inMs, listed, madeBy, minute, now, planned, second, shows } from "../builders.ts";

const former = branch({ uid: uidOf("z") });

describe("a Branch that has none and adopts none", () => {
  test("the whole create follows from the spec: name, parent, point, data, protection and end", () => {
    expect(planned()).toEqual({
      kind: "write",
      write: { op: "create", name: "team/shop", body: { name: "team/shop" }, end: { expiry: "never", at: undefined } },
    });
    const parent = { branchName: "main", lsn: "0/1A2B3C4", schemaOnly: true };
    const spec = { branchName: "preview/pr-42", parent, protected: true };
    expect(planned({ object: branch({ spec }) })).toMatchObject({
      write: {
        name: "preview/pr-42",
        body: {
          name: "preview/pr-42",
          parent_id: "br-main",
          parent_lsn: "0/1A2B3C4",
          init_source: "schema-only",
          protected: true,
        },
      },
    });
    const at = "2026-01-09T00:00:00Z";
    const timed = { parent: { branchID: "br-main", at, schemaOnly: false }, expiry: { after: "72h" } };
    expect(planned({ object: branch({ spec: timed }) })).toEqual({
      kind: "write",
      write: {
        op: "create",
        name: "team/shop",
        body: { name: "team/shop", parent_id: "br-main", parent_timestamp: at, expires_at: inMs(3 * day) },
        end: { expiry: "after 72h", at: inMs(3 * day) },
      },
    });
  });

  test.each([
    ["id", { branchID: "br-gone" }, "br-gone"],
    ["name", { branchName: "gone" }, '"gone"'],
  ])("a parent that is not listed is named by its %s, and nothing is sent", (_, parent, named) => {
    expect(planned({ object: branch({ spec: { parent } }) })).toEqual(
      shows("BranchNotFound", `Project shiny-wind-028834 has no branch ${named}`),
    );
  });

  test("an end that is over is never sent: the Branch has expired before it was made", () => {
    const at = inMs(-second);
    expect(planned({ object: branch({ spec: { expiry: { at } } }) })).toEqual(shows("Expired", at));
  });
});

describe("a name that a listed branch has", () => {
  test.each([
    [
      "was created by a Branch that left its note",
      madeBy(former),
      `was created by Branch team/shop with uid ${uidOf("z")}`,
    ],
    ["was not created by this operator", listed(), "was not created by this operator"],
    [
      "was created by another program, with a note of its own",
      listed({ note: { "made-by": "ci" } }),
      "was created by another operator",
    ],
    [
      "was created by one whose note lacks the place",
      listed({ note: { "compute-operator.dev/uid": "u" } }),
      "was created by another operator",
    ],
  ])("the message says that it %s", (_, taken, maker) => {
    expect(planned({ branches: [taken] })).toMatchObject(
      shows("BranchExists", `Branch "team/shop" (br-one) exists and ${maker}; it has no end.`),
    );
  });

  test("the status keeps when the branch that has the name ends, and the message says so", () => {
    const taken = listed({ expires_at: inMs(hour) });
    expect(planned({ branches: [taken] })).toMatchObject({
      ...shows("BranchExists", `it ends at ${inMs(hour)}.`),
      news: { takenUntil: inMs(hour) },
    });
  });
});

describe("a name that the service refuses and no list shows", () => {
  const taken = (waitMs: number, failures: number, more: object = {}) => ({
    failed: {
      write: identityOf({ op: "create", name: "team/shop" }, generationOf(branch())),
      fingerprint: "here",
      reason: "BranchExists" as const,
      message: "branch already exists",
      until: now + waitMs,
      failures,
      branches: 0,
      ...more,
    },
  });

  test.each([
    ["is listed again for 10 s", taken(1, 0), { ...shows("Creating", "listed again"), afterMs: 2000 }],
    [
      "is then reported with what the service said, until it is tried again",
      taken(minute, 1),
      { ...shows("BranchExists", "branch already exists"), afterMs: minute },
    ],
    ["is tried at once after the 10 s", taken(0, 0), { kind: "write", write: { op: "create" } }],
    ["is tried again when that is due", taken(0, 1), { kind: "write", write: { op: "create" } }],
    ["is tried at once after an edit", taken(minute, 1, { write: "" }), { kind: "write" }],
    ["is tried at once with another key", taken(minute, 1, { fingerprint: "another" }), { kind: "write" }],
  ])("the name %s", (_, remembered, expected) => {
    expect(planned({}, remembered)).toMatchObject(expected);
  });

  test("a list that began before the refusal proves nothing", () => {
    expect(planned({ startedAt: now - minute }, taken(-1, 0))).toMatchObject(shows("Creating"));
  });
});

describe("adopt by id or by name", () => {
  const byID = branch({ spec: { adopt: { branchID: "br-one" } } });
  const byName = branch({ spec: { adopt: { byName: true } } });

  test.each([
    ["id", byID, "There is no branch br-one to adopt."],
    ["name", byName, 'There is no branch "team/shop" to adopt.'],
  ])("a branch that is missing by its %s is refused, and none is created", (_, object, message) => {
    expect(planned({ object })).toEqual(shows("AdoptionRefused", message));
  });

  test.each([
    ["id", byID, listed({ name: "legacy" })],
    ["name", byName, listed()],
  ])("a branch without an operator's note is linked by its %s and recorded as adopted", (_, object, seen) => {
    expect(planned({ object, branches: [seen] })).toEqual({
      kind: "note",
      news: {
        branchID: "br-one",
        proof: { uid: uidOf("a"), branchID: "br-one", by: "adopted" },
        observedThrough: "here",
      },
      event: { type: "Normal", reason: "Adopted", message: expect.stringContaining("Adopted branch br-one") },
    });
  });

  test.each([
    ["id", byID],
    ["name", byName],
  ])("a branch with the note of an operator is refused by its %s, with its maker", (_, object) => {
    expect(planned({ object, branches: [madeBy(former)] })).toEqual(
      shows("AdoptionRefused", `was created by Branch team/shop with uid ${uidOf("z")}`),
    );
  });

  test("a note that is no operator's is no obstacle", () => {
    expect(planned({ object: byID, branches: [listed({ note: { "made-by": "ci" } })] })).toMatchObject({
      kind: "note",
      news: { proof: { by: "adopted" } },
    });
  });
});

describe("adopt.former", () => {
  const object = branch({ spec: { adopt: { former: true } } });
  const fleet = "prod";
  const formers = madeBy(former, {}, fleet);

  test("the branch of the former Branch of this fleet, namespace and name is taken over", () => {
    expect(planned({ object, fleet, branches: [formers] })).toEqual({
      kind: "note",
      news: {
        branchID: "br-one",
        proof: { uid: uidOf("a"), branchID: "br-one", by: "former" },
        observedThrough: "here",
      },
      event: { type: "Normal", reason: "Adopted", message: expect.stringContaining("Took over branch br-one") },
    });
  });

  test.each([
    ["another fleet's", { branches: [madeBy(former, {}, "staging")] }],
    ["of no fleet", { branches: [madeBy(former)] }],
    ["of an object of another name", { branches: [madeBy(branch({ name: "next", uid: uidOf("z") }), {}, fleet)] }],
    [
      "of an object of another namespace",
      {
        branches: [madeBy(branch({ namespace: "others" }), {}, fleet)].map((one) => ({
          ...one,
          note: { ...one.note, "compute-operator.dev/uid": uidOf("z") },
        })),
      },
    ],
    ["a live Branch's", { branches: [formers], alive: [uidOf("z")] }],
    ["without a note", { branches: [listed()] }],
  ])("a branch that is %s is not taken over", (_, seen) => {
    expect(planned({ object, fleet, ...seen })).toMatchObject(shows("BranchExists"));
  });

  test("nothing is known of former clusters without --fleet", () => {
    expect(planned({ object, branches: [formers] })).toEqual(shows("AdoptionRefused", "--fleet"));
  });
});
