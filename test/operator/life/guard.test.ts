import { describe, expect, test } from "vitest";
import { type Facts, type GuardedWrite, guardRules, type Shown, stopOf } from "../../../src/operator/life/guard.ts";

const everything: readonly Shown[] = [
  "signature",
  "created",
  "former",
  "adopted",
  "none",
  "foreign",
  "stranger",
  "absent",
];

/** By rules 1 and 8 of the design, and rules 1 and 6 of a Branch. */
const passes: readonly [GuardedWrite, ...Shown[]][] = [
  ["endpoint create", "absent"],
  ["endpoint takeover", "former"],
  ["endpoint sign", "signature"],
  ["endpoint patch", "signature", "created", "adopted", "none"],
  ["endpoint move", "signature", "created", "adopted", "none"],
  ["endpoint restart", "signature", "created", "adopted"],
  ["endpoint delete", "signature", "created", "adopted"],
  ["endpoint surplus", "signature"],
  ["role reset", "signature", "created", "adopted"],
  ["branch create", "absent"],
  ["branch end", "signature", "created", "former"],
  ["branch protection", "signature", "created", "former", "adopted"],
  ["branch reset", "signature", "created", "former"],
  ["branch delete", "signature", "created", "former"],
];

function factsOf(write: GuardedWrite, shown: Shown, more: Partial<Facts> = {}): Facts {
  return { write, target: "ep-one", shown, ...more };
}

/** The rule by which a write is stopped; `undefined`: it passes. */
function ruleOf(facts: Facts): string | undefined {
  return stopOf(facts, false)?.rule;
}

describe("the table of the last guard", () => {
  test.each(passes)("passes and stops by what is shown: %s", (write, ...proofs) => {
    const passed = everything.filter((shown) => ruleOf(factsOf(write, shown)) === undefined);
    expect(passed.toSorted()).toEqual(proofs.toSorted());
  });

  test("every write of the table is judged here, and its rules are those that the metric shows", () => {
    expect([...new Set(guardRules.map((rule) => rule.split("-").slice(0, 2).join(" ")))]).toEqual(
      passes.map(([write]) => write),
    );
  });

  test.each(passes)("an earlier claim of another object stops it, whatever the proof: %s", (write, proof) => {
    expect(ruleOf(factsOf(write, proof ?? "none", { rival: "Compute shop/other" }))).toBe(
      `${write.replace(" ", "-")}-claim`,
    );
  });

  test.each<[GuardedWrite, Shown]>([
    ["endpoint create", "absent"],
    ["endpoint takeover", "former"],
  ])("a record that is open stops it: %s", (write, shown) => {
    expect(ruleOf(factsOf(write, shown, { isOpen: true }))).toBe(`${write.replace(" ", "-")}-record`);
  });

  test.each<[GuardedWrite, Shown]>([
    ["endpoint delete", "signature"],
    ["branch delete", "signature"],
  ])("Retain stops it: %s", (write, shown) => {
    expect(ruleOf(factsOf(write, shown, { isRetained: true }))).toBe(`${write.replace(" ", "-")}-policy`);
  });

  test.each(passes)("an object that only observes stops it, whatever the proof: %s", (write, proof) => {
    const rule = ruleOf(factsOf(write, proof ?? "none", { onlyObserves: true }));
    expect([rule, guardRules.includes(rule ?? "")]).toEqual([`${write.replace(" ", "-")}-policy`, true]);
  });

  test("every rule by which a write is stopped is a value of the metric's label", () => {
    const rules = passes.flatMap(([write, proof = "none"]) => [
      ruleOf(factsOf(write, "stranger")),
      ruleOf(factsOf(write, proof, { rival: "Compute shop/other" })),
    ]);
    expect(rules.filter((rule) => rule === undefined || !guardRules.includes(rule))).toEqual([]);
  });
});

describe("the message of a stopped write", () => {
  test("says what happened, what comes next and what to do, ids last", () => {
    expect(stopOf(factsOf("endpoint patch", "stranger"), false)?.message).toBe(
      "A planned write to ep-one was stopped because nothing proves its target the object's own (endpoint-patch-proof): nothing is sent, and the write is planned again hourly. This is a defect of the operator, please report it.",
    );
  });

  test("names the way out of a deletion", () => {
    expect(stopOf(factsOf("endpoint delete", "foreign"), true)?.message).toBe(
      "A planned write to ep-one was stopped because its target bears the signature of another object (endpoint-delete-proof): nothing is sent, and the write is planned again hourly. This is a defect of the operator, please report it; spec.deletionPolicy: Retain lets the object go.",
    );
  });

  test("names the object with the earlier claim", () => {
    expect(stopOf(factsOf("branch end", "created", { rival: "shop/other" }), false)?.message).toContain(
      "because shop/other has the earlier claim (",
    );
  });
});
