import { describe, expect, test } from "vitest";
import { never } from "../../../../src/operator/life/record.ts";
import { uidOf } from "../../../support/builders.ts";
import {
  type BranchFields,
  branch,
  hour,
  inMs,
  listed,
  madeBy,
  minute,
  now,
  planned,
  post,
  type Seen,
  second,
  shows,
} from "../builders.ts";

const going = (fields: BranchFields = {}) => branch({ deleting: true, ...fields });
const mine = going({ linked: "br-one" });
const unlinked = going();
const released = (text: string) => ({ kind: "release", event: "Released", message: expect.stringContaining(text) });
const deletes = (id = "br-one") => ({ kind: "write", write: { op: "delete", id } });

describe("a Branch that is being deleted has its branch", () => {
  test.each([
    ["the note", going({ linked: "br-one", status: { proof: undefined } }), madeBy(mine)],
    ["a proof of its create", mine, listed()],
    [
      "a proof of its takeover",
      going({ linked: "br-one", status: { proof: { uid: uidOf("a"), branchID: "br-one", by: "former" } } }),
      madeBy(branch({ uid: uidOf("z") })),
    ],
  ])("deleted where %s shows that it is its own", (_, object, seen) => {
    expect(planned({ object, branches: [seen] })).toEqual(deletes());
  });

  test.each([
    [
      "adopted",
      going({ linked: "br-one", status: { proof: { uid: uidOf("a"), branchID: "br-one", by: "adopted" } } }),
      {},
      "which was adopted",
    ],
    ["linked without a proof", going({ linked: "br-one", status: { proof: undefined } }), {}, "nothing proves"],
    [
      "another object's, whose claim is older",
      mine,
      { others: [branch({ uid: uidOf("b"), linked: "br-one", created: "2025-01-01T00:00:00Z" })] },
      "another Branch object owns it",
    ],
    ["to be kept by the spec", going({ linked: "br-one", spec: { deletionPolicy: "Retain" } }), {}, "it has no end"],
  ])("kept where it is %s", (_, object, seen: Seen, text) => {
    expect(planned({ object, ...seen })).toEqual(released(text));
  });

  test("kept with the end that it has, which the event names", () => {
    const object = going({ linked: "br-one", spec: { deletionPolicy: "Retain" } });
    expect(planned({ object, branches: [listed({ expires_at: inMs(hour) })] })).toEqual(
      released(`it still ends at ${inMs(hour)}`),
    );
  });

  test.each([{ deletionPolicy: "Delete" }, {}])("deleted by the policy of %j, whatever was in force before", (spec) => {
    const status = { deletionPolicy: "Retain" };
    expect(planned({ object: going({ linked: "br-one", spec, status }) })).toEqual(deletes());
  });
});

describe("an obstacle to the deletion of a branch", () => {
  const child = listed({ id: "br-two", name: "team/child", parent_id: "br-one" });

  test.each([
    [
      "Protected",
      "the project's default branch",
      { branches: [listed({ default: true })] },
      "the project's default, which is never deleted",
    ],
    [
      "Protected",
      "a protected branch",
      { branches: [listed({ protected: true })] },
      "a protected branch is never deleted",
    ],
    [
      "HasChildren",
      "a branch from which others start",
      { branches: [listed(), child] },
      "Other branches (team/child) start from branch br-one.",
    ],
    [
      "HasChildren",
      "a child without a name",
      { branches: [listed(), { ...child, name: undefined }] },
      "Other branches (br-two) start from branch br-one.",
    ],
    ["InUse", "a Compute that uses the branch", { usedBy: ["web", "jobs"] }, "jobs, web"],
  ])("%s is shown for %s, and nothing is sent", (reason, _, seen: Seen, text) => {
    expect(planned({ object: mine, ...seen })).toEqual(shows(reason, text));
  });

  test("the children of another branch are none", () => {
    expect(planned({ object: mine, branches: [listed(), { ...child, parent_id: "br-main" }] })).toEqual(deletes());
  });
});

describe("the DELETE of a branch", () => {
  const sent = (ms: number) => ({ deleted: { id: "br-one", at: now - ms } });

  test.each([
    ["is waited for while lists may still show the branch", 10 * second - 1, { ...shows("Deleting"), afterMs: 2000 }],
    ["is sent again where lists show the branch for longer", 10 * second, deletes()],
  ])("an answered DELETE %s", (_, ms, expected) => {
    expect(planned({ object: mine }, sent(ms))).toEqual(expected);
  });

  test("an answered DELETE of another branch says nothing of this one", () => {
    expect(planned({ object: mine }, { deleted: { id: "br-two", at: now } })).toEqual(deletes());
  });

  const missing = (ms: number, proved = false) => ({ missing: { id: "br-one", since: now - ms, proved } });
  const lacking = { object: mine, branches: [] };
  const confirming = { ...shows("Deleting", "further lists confirm it"), afterMs: 10 * second };

  test.each([
    ["is confirmed by further lists from the first on", {}, confirming],
    ["is confirmed for as long as lists may lag", missing(4 * second), { ...confirming, afterMs: 6 * second }],
    ["is then asked for by its own GET", missing(10 * second), { kind: "probe", id: "br-one" }],
    [
      "is gone once that proves it",
      missing(10 * second, true),
      { kind: "release", event: "Deleted", message: "Deleted branch br-one and its computes." },
    ],
  ])("a branch that lists lack %s", (_, remembered, expected) => {
    expect(planned(lacking, remembered)).toEqual(expected);
  });

  test.each([
    ["by lists alone", missing(minute)],
    ["by its own GET", missing(minute, true)],
    ["by the DELETE of another branch", { ...missing(minute), deleted: { id: "br-two", at: 0 } }],
  ])("a changed connection proves no branch deleted %s, and Retain lets it go", (_, remembered) => {
    const status = { observedThrough: "elsewhere", expiresAt: inMs(hour) };
    const object = going({ linked: "br-one", status });
    expect(planned({ object, branches: [] }, remembered)).toEqual(
      shows("BranchNotFound", "or set deletionPolicy: Retain to let the branch go."),
    );
    const kept = going({ linked: "br-one", status, spec: { deletionPolicy: "Retain" } });
    expect(planned({ object: kept, branches: [] }, remembered)).toEqual(released(`still ends at ${inMs(hour)}`));
  });

  test("a branch whose DELETE was answered is proved gone through a changed connection too", () => {
    const object = going({ linked: "br-one", status: { observedThrough: "elsewhere" } });
    const remembered = { ...missing(10 * second), deleted: { id: "br-one", at: now - minute } };
    expect(planned({ object, branches: [] }, remembered)).toEqual({ kind: "probe", id: "br-one" });
  });

  test("the branch that was deleted is named, and not one that was already gone", () => {
    const both = { ...missing(10 * second, true), deleted: { id: "br-two", at: 0 } };
    expect(planned(lacking, both)).toMatchObject({ event: "Deleted", message: expect.stringContaining("br-two") });
    const onlyDeleted = { deleted: { id: "br-one", at: 0 } };
    expect(planned({ object: unlinked }, onlyDeleted)).toMatchObject({ event: "Deleted" });
  });
});

describe("a create without a usable answer, before the finalizer goes", () => {
  const settling = (afterMs: number) => ({
    ...shows("Deleting", "An earlier create may still be carried out"),
    afterMs,
  });
  const none = released("No branch was left to delete.");
  /** The settle time and the lag of lists. */
  const settles = 70 * second;

  test("nothing is waited for where no create was sent", () => {
    expect(planned({ object: unlinked })).toEqual(none);
  });

  test.each([
    ["is waited for", settles - second, settling(second + 1)],
    ["is waited for up to its last moment, and not in a busy loop", settles - 1, settling(second)],
    ["is over after the settle time and the lag of lists", settles, none],
  ])("a create of this process %s", (_, ms, expected) => {
    expect(planned({ object: unlinked }, post(now - ms))).toEqual(expected);
  });

  test.each([
    ["is waited for while lists may lack its branch", 10 * second - 1, settling(second)],
    ["is over once lists would show its branch", 10 * second, none],
  ])("a create that was answered, and whose status is not stored, %s", (_, ms, expected) => {
    expect(planned({ object: unlinked }, post(never, "own", now - ms))).toEqual(expected);
  });

  test("an answered create does not shorten the wait for an earlier one", () => {
    const both = post(now - minute, "own", now - 10 * second);
    expect(planned({ object: unlinked }, both)).toEqual(settling(10 * second + 1));
  });

  test("only a list that began after the settle time proves that nothing came of the create", () => {
    const seen = { object: unlinked, startedAt: now - 2 * second };
    expect(planned(seen, post(now - settles))).toEqual(settling(second));
  });

  test("a create that an earlier process may have sent counts from when this one first saw the object", () => {
    const seenFor = (ms: number) => post(now - ms, "earlier");
    expect(planned({ object: unlinked }, seenFor(settles - minute))).toEqual(settling(minute + 1));
    expect(planned({ object: unlinked }, seenFor(settles))).toEqual(none);
  });

  test.each([
    ["an old branch proves that no create was on its way when this process began", settles + 2 * second, true],
    ["beside a young branch another create may have been on its way", settles, false],
  ])("%s", (_, madeMsBefore, isReleased) => {
    const seenSince = now - 30 * second;
    const createdAt = inMs(-30 * second - madeMsBefore);
    const object = going({ linked: "br-one", status: { createdAt } });
    const gone = { ...post(seenSince, "earlier"), missing: { id: "br-one", since: seenSince, proved: true } };
    expect(planned({ object, branches: [] }, gone)).toMatchObject(
      isReleased ? { kind: "release", event: "Deleted" } : settling(40 * second + 1),
    );
  });

  test("a branch whose age is unknown counts as young", () => {
    const gone = { ...post(now - 30 * second, "earlier"), missing: { id: "br-one", since: 0, proved: true } };
    expect(planned({ object: mine, branches: [] }, gone)).toEqual(settling(40 * second + 1));
  });

  test("what shows up late with our note is deleted, whatever its name, also beside one that is proved gone", () => {
    const late = madeBy(mine, { id: "br-late", name: "renamed" });
    const proved = { missing: { id: "br-one", since: 0, proved: true } };
    expect(planned({ object: mine, branches: [late] }, proved)).toEqual(deletes("br-late"));
    const kept = going({ linked: "br-one", spec: { deletionPolicy: "Retain" } });
    expect(planned({ object: kept, branches: [late] }, proved)).toMatchObject({ kind: "release" });
  });

  test("another object's note is not ours to delete", () => {
    const others = madeBy(branch({ uid: uidOf("b") }), { id: "br-late" });
    expect(planned({ object: unlinked, branches: [others] })).toEqual(none);
  });

  test("an object with Retain waits for no create, but one that declared it once does", () => {
    const object = going({ spec: { deletionPolicy: "Retain" } });
    expect(planned({ object }, post(now))).toEqual(none);
    const declaredOnce = going({ status: { deletionPolicy: "Retain" } });
    expect(planned({ object: declaredOnce }, post(now))).toMatchObject({ kind: "show", reason: "Deleting" });
  });
});
