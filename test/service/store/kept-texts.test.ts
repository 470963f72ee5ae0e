import { expect, it } from "vitest";
import { KeptTexts } from "../../../src/service/store/kept-texts.ts";

it("texts are kept up to so many characters in all, and the oldest are made again", () => {
  const kept = new KeptTexts(10);
  const made: string[] = [];
  const get = (key: string, length: number) => {
    const { text, keep } = kept.of(key);
    if (text !== undefined) return text;
    made.push(key);
    keep(key.repeat(length));
    return key.repeat(length);
  };
  for (const key of ["a", "b", "a", "b"]) expect(get(key, 5)).toBe(key.repeat(5));
  expect(made).toEqual(["a", "b"]);
  get("c", 1);
  for (const key of ["b", "c", "a"]) get(key, 1);
  expect(made).toEqual(["a", "b", "c", "a"]);
  expect(get("long", 11)).toHaveLength(44);
  get("long", 11);
  expect(made.slice(4)).toEqual(["long", "long"]);
  kept.delete("a");
  get("w", 10);
  kept.clear();
  for (const key of ["x", "y"]) get(key, 5);
  get("x", 5);
  expect(made.slice(6)).toEqual(["w", "x", "y"]);
});

it("a text that is made while its key is deleted, or while another one is kept, is kept by nobody", () => {
  const kept = new KeptTexts(10);
  const [first, second] = [kept.of("a"), kept.of("a")];
  kept.delete("a");
  first.keep("before");
  expect(kept.of("a").text).toBeUndefined();
  const third = kept.of("a");
  third.keep("now");
  kept.of("a").keep("later");
  second.keep("before");
  expect(kept.of("a").text).toBe("now");
  // The length counts what is kept alone: 3 and 7 are not beyond 10.
  kept.of("b").keep("seven..");
  expect([kept.of("a").text, kept.of("b").text]).toEqual(["now", "seven.."]);
});
