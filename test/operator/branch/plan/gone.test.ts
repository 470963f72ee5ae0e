import { describe, expect, test } from "vitest";
import { uidOf } from "../../../support/builders.ts";
import {
  type BranchFields,
  branch,
  hour,
  inMs,
  listed,
  minute,
  now,
  observation,
  planned,
  second,
  shows,
} from "../builders.ts";

const mine = (fields: BranchFields = {}) => branch({ linked: "br-one", ...fields });
const missing = (ms: number, proved = false) => ({ missing: { id: "br-one", since: now - ms, proved } });

describe("a branch that lists lack", () => {
  test.each([
    ["is waited for from the first list on", {}, { kind: "noop", afterMs: 10 * second }],
    ["is waited for while lists may lag", missing(4 * second), { kind: "noop", afterMs: 6 * second }],
    ["is waited for up to the last moment", missing(10 * second - 1), { kind: "noop", afterMs: 1 }],
    ["is then asked for by its own GET", missing(10 * second), { kind: "probe", id: "br-one" }],
    ["is gone once that proves it", missing(0, true), { kind: "show", reason: "BranchLost" }],
  ])("a branch that lists lack %s", (_, remembered, expected) => {
    expect(planned({ object: mine(), branches: [] }, remembered)).toMatchObject(expected);
  });

  test("time alone proves nothing: the lists themselves have to be that far apart", () => {
    const seen = { object: mine(), branches: [], startedAt: now - 8 * second };
    expect(planned(seen, missing(10 * second))).toEqual({ kind: "noop", afterMs: 8 * second });
  });

  test.each([
    ["by lists alone", missing(hour)],
    ["by its own GET", missing(hour, true)],
  ])("a changed connection proves nothing gone %s", (_, remembered) => {
    const object = mine({ status: { observedThrough: "elsewhere" } });
    expect(planned({ object, branches: [] }, remembered)).toEqual(
      shows("BranchNotFound", "The changed connection does not show branch br-one, which proves nothing."),
    );
  });

  test("a branch of which no connection is recorded is proved gone through the present one", () => {
    const object = mine({ status: { observedThrough: undefined } });
    expect(planned({ object, branches: [] }, missing(10 * second))).toEqual({ kind: "probe", id: "br-one" });
  });

  test.each([
    ["a value", { annotations: { resetAt: "1" } }, "BranchLost"],
    ["another value", { annotations: { resetAt: "2" }, status: { resetAt: "1" } }, "BranchLost"],
    ["a value that was carried out", { annotations: { resetAt: "1" }, status: { resetAt: "1" } }, "BranchNotFound"],
    ["no value, where one was carried out", { status: { resetAt: "1" } }, "BranchNotFound"],
  ])(
    "a person says with %s of resetAt that a branch which a changed connection lacks is gone",
    (_, fields: BranchFields, reason) => {
      const object = mine({ ...fields, status: { ...fields.status, observedThrough: "elsewhere" } });
      expect(planned({ object, branches: [] })).toMatchObject({ kind: "show", reason });
    },
  );
});

describe("a branch that is proved gone", () => {
  const ended = (ms: number | undefined, fields: BranchFields = {}) =>
    mine({ ...fields, status: { ...(ms === undefined ? {} : { expiresAt: inMs(ms) }), ...fields.status } });

  test.each([
    ["after its end", -minute, 0, "Expired"],
    ["a minute before its end", minute, 0, "Expired"],
    ["earlier", minute + second, 0, "BranchLost"],
    ["a minute before its end, of which this process learns later", -hour, hour + minute, "Expired"],
    ["earlier, of which this process learns after the end", -hour, hour + minute + second, "BranchLost"],
    ["without an end", undefined, 0, "BranchLost"],
  ])("a branch that goes missing %s: ends in %s ms, missing for %s ms, is %s", (_, endsInMs, missingMs, reason) => {
    expect(planned({ object: ended(endsInMs), branches: [] }, missing(missingMs, true))).toMatchObject({
      kind: "show",
      reason,
    });
  });

  test.each([
    [
      "that came to its end",
      -minute,
      "Expired",
      `Expired: branch br-one came to its end at ${inMs(-minute)} and was deleted with its data. Delete this object, or set the annotation resetAt to a new value or another expiry to have a fresh one made.`,
    ],
    [
      "that was deleted outside",
      hour,
      "BranchLost",
      "Branch br-one was deleted outside the operator. Recover it at the service while that is possible, or set the annotation resetAt to a new value to have a fresh one made.",
    ],
  ])("a branch %s is recorded with what would make it again", (_, endsInMs, how, message) => {
    const object = ended(endsInMs, {
      annotations: { resetAt: "2" },
      spec: { expiry: { after: "72h" } },
      status: { resetAt: "1" },
    });
    expect(planned({ object, branches: [] }, missing(0, true))).toEqual({
      kind: "show",
      reason: how,
      message,
      news: { gone: { branchID: "br-one", how, expiry: "after 72h", resetAt: "1" } },
    });
  });
});

describe("a branch that is recorded as gone", () => {
  const gone = (how: string, fields: BranchFields = {}) =>
    mine({
      spec: { expiry: { after: "72h" } },
      ...fields,
      status: {
        expiresAt: inMs(-hour),
        gone: { branchID: "br-one", how, expiry: "after 72h", resetAt: "1" },
        ...fields.status,
      },
    });

  test.each([
    ["Expired", `Expired: branch br-one came to its end at ${inMs(-hour)} and`],
    ["BranchLost", "Branch br-one was deleted outside the operator."],
  ])("a branch that is gone stays %s, and none is made in its place", (how, text) => {
    expect(planned({ object: gone(how), branches: [] })).toEqual(shows(how, text));
  });

  test("the value of resetAt that was there when it went asks for no other branch", () => {
    expect(planned({ object: gone("Expired", { annotations: { resetAt: "1" } }), branches: [] })).toMatchObject({
      kind: "show",
      reason: "Expired",
    });
  });

  test.each([
    ["another value of resetAt", { annotations: { resetAt: "2" } }, "2"],
    ["another expiry", { spec: { expiry: { after: "71h" } } }, undefined],
    [
      "another expiry beside a resetAt of before",
      { annotations: { resetAt: "1" }, spec: { expiry: { never: true } } },
      "1",
    ],
  ])("all that is known of it is forgotten for %s, so that a fresh one is made", (_, fields, resetAt) => {
    const action = planned({ object: gone("BranchLost", fields), branches: [] });
    expect(action).toStrictEqual({
      kind: "note",
      news: {
        branchID: undefined,
        proof: undefined,
        gone: undefined,
        appliedExpiry: undefined,
        appliedEnd: undefined,
        observedThrough: undefined,
        resetAt,
      },
    });
  });

  test("a branch that is listed again is this object's as before", () => {
    const object = gone("BranchLost", { status: { proof: { uid: uidOf("a"), branchID: "br-one", by: "created" } } });
    const branches = [listed()];
    expect(observation({ object, branches }).linked).toEqual({ listed: branches[0], by: "created" });
    expect(planned({ object, branches })).toMatchObject(shows("Available"));
  });
});
