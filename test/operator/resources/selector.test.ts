import { describe, expect, test } from "vitest";
import { labelSelector } from "../../../src/operator/resources/selector.ts";

const labels = { team: "a", tier: "gold", "example.com/env": "prod", empty: "" };

describe("a label selector as kubectl takes it", () => {
  test.each([
    ["", true],
    ["team=a", true],
    ["team==a", true],
    ["team = a", true],
    ["team=b", false],
    ["team!=b", true],
    ["team!=a", false],
    ["missing!=a", true],
    ["missing=a", false],
    ["empty=", true],
    ["missing=", false],
    ["team in (a,b)", true],
    ["team in ( b , a )", true],
    ["team in(a)", true],
    ["team in (b)", false],
    ["missing in (a)", false],
    ["team notin (a)", false],
    ["team notin (b)", true],
    ["missing notin (a)", true],
    ["team", true],
    ["!team", false],
    ["!missing", true],
    ["! missing", true],
    ["example.com/env=prod", true],
    ["team=a,tier in (gold,silver),!missing", true],
    ["team=a,tier in (silver)", false],
    ["constructor", false],
    ["constructor!=x", true],
    ["toString in (x)", false],
  ])("%s: %s", (text, holds) => {
    expect(labelSelector(text)(labels)).toBe(holds);
  });

  test("matches an object without labels only where it asks for none", () => {
    expect(labelSelector("")(undefined)).toBe(true);
    expect(labelSelector("!team")(undefined)).toBe(true);
    expect(labelSelector("team")(undefined)).toBe(false);
  });

  test.each([
    "=a",
    "team=a b",
    "team in",
    "team in ()",
    "team in (a",
    "team>3",
    "a=b=c",
    "-team",
    "team=a,,tier=b",
    "team=a,",
    "!",
  ])("cannot be read: %s", (text) => {
    expect(() => labelSelector(text)).toThrow(/is no label selector: write a=b, a!=b, a in \(x,y\)/);
  });
});
