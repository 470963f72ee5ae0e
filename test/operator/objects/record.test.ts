import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sameJSON } from "../../../src/operator/objects/record.ts";

/** Few names and values, so that two of a kind are often the same. */
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>(null, undefined, true, 0, 1, "", "1"),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "__proto__"), tie("any"), { maxKeys: 3 }),
  ),
})).any;

describe("two values are the same once written as JSON", () => {
  test("two values are the same exactly when what is read back from their JSON is the same", () => {
    const read = (one: unknown): unknown => (one === undefined ? undefined : JSON.parse(JSON.stringify(one)));
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(sameJSON(a, b)).toBe(isDeepStrictEqual(read(a), read(b)));
      }),
      { numRuns: 2000 },
    );
  });

  test.each<[unknown, unknown, boolean]>([
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: 1, b: undefined }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: undefined }, true],
    [{ a: undefined, b: 1 }, { a: 1, b: undefined }, false],
    [{ a: null }, {}, false],
    [[undefined], [null], true],
    [[], {}, false],
    [[1, 2], [2, 1], false],
  ])("%j and %j: %s", (a, b, same) => {
    expect(sameJSON(a, b)).toBe(same);
  });
});
