import { expect, it } from "vitest";
import { stylesheet } from "../../../src/service/console/stylesheet.ts";

/** The relative luminance of a colour such as `#0b6655`, as WCAG 2.2 defines it. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

/** The value of a custom property by day and by night. */
function colours(name: string): [light: string, dark: string] {
  const found = new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\)`).exec(
    stylesheet.reply.body ?? "",
  );
  if (!found?.[1] || !found[2]) throw new Error(`the stylesheet has no --${name}`);
  return [found[1], found[2]];
}

it("the focus shows wherever a person can type or press: the page as a whole, to which links lead, is the exception", () => {
  const hidden = [...(stylesheet.reply.body ?? "").matchAll(/([^{}]*)\{[^{}]*outline: *(?:none|0)\b/g)];
  expect(hidden.map(([, selector = ""]) => selector.trim())).toEqual(["main:focus"]);
});

it.each([
  ["ink", "page"],
  ["ink", "card"],
  ["soft", "page"],
  ["soft", "card"],
  ["accent", "page"],
  ["accent", "card"],
  ["on-accent", "accent"],
  ["good", "card"],
  ["ink", "good-back"],
  ["bad", "card"],
  ["card", "bad"],
  ["bad", "bad-back"],
  ["ink", "bad-back"],
])("%s on %s can be read by day and by night, as WCAG AA asks", (text, back) => {
  const [textByDay, textByNight] = colours(text);
  const [backByDay, backByNight] = colours(back);
  expect(contrast(textByDay, backByDay)).toBeGreaterThanOrEqual(4.5);
  expect(contrast(textByNight, backByNight)).toBeGreaterThanOrEqual(4.5);
});
