import { describe, expect, test } from "vitest";
import { namespaceSelector, selectsAll, selectsLabels } from "../../../src/operator/resources/namespace.ts";

const labels = { team: "shop", empty: "" };
const expression = (operator: string, key: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, ...(values.length === 0 ? {} : { values }) }],
});

describe("a namespace selector", () => {
  test.each([
    [{}, true],
    [{ matchLabels: { team: "shop" } }, true],
    [{ matchLabels: { team: "billing" } }, false],
    [{ matchLabels: { team: "shop", other: "x" } }, false],
    [{ matchLabels: { empty: "" } }, true],
    [{ matchLabels: { missing: "" } }, false],
    [{ matchLabels: { toString: "x" } }, false],
    [expression("In", "team", "shop", "billing"), true],
    [expression("In", "team", "billing"), false],
    [expression("In", "missing", "shop"), false],
    [expression("NotIn", "team", "billing"), true],
    [expression("NotIn", "team", "shop"), false],
    [expression("NotIn", "missing", "shop"), true],
    [expression("Exists", "empty"), true],
    [expression("Exists", "missing"), false],
    [expression("Exists", "constructor"), false],
    [expression("DoesNotExist", "missing"), true],
    [expression("DoesNotExist", "team"), false],
    [{ matchLabels: { team: "shop" }, ...expression("Exists", "missing") }, false],
  ])("%j selects as Kubernetes does: %s", (raw, expected) => {
    expect(selectsLabels(namespaceSelector.parse(raw), labels)).toBe(expected);
  });

  test.each([
    [{}, true],
    [{ matchLabels: {} }, true],
    [{ matchLabels: {}, matchExpressions: [] }, true],
    [{ matchLabels: { team: "shop" } }, false],
    [expression("DoesNotExist", "team"), false],
  ])("%j selects every namespace, whatever its labels: %s", (raw, expected) => {
    expect(selectsAll(namespaceSelector.parse(raw))).toBe(expected);
  });

  test.each([
    expression("In", "team"),
    expression("Exists", "team", "shop"),
    expression("Is", "team", "shop"),
    expression("Exists", "no key"),
    { matchLabels: { team: 1 } },
  ])("%j is refused", (raw) => {
    expect(namespaceSelector.safeParse(raw).success).toBe(false);
  });
});
