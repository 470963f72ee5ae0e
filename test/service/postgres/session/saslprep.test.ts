import { expect, it, test } from "vitest";
import { prepared } from "../../../../src/service/postgres/session/saslprep.ts";

test.each([
  ["a soft hyphen counts for nothing", "pass\u00adword", "password"],
  ["joiners and selectors count for nothing", "a\u200c\u200d\u2060\ufe0f\ufeffb", "ab"],
  ["a space beyond ASCII is a space", "a\u00a0b\u3000c\u2003d", "a b c d"],
  ["a space without width is a space too, as in Postgres", "a\u200bb", "a b"],
  ["a ligature is its letters", "\ufb01sh", "fish"],
  ["a letter and its accent are one", "A\u030angstro\u0308m", "\u00c5ngstr\u00f6m"],
  [
    "as many marks are in order as a text may have in a row",
    `\ufb01${"\u0345\u0334".repeat(15)}`,
    `fi${"\u0334".repeat(15)}${"\u0345".repeat(15)}`,
  ],
  ["letters from right to left alone are prepared", "\u05d0\u00ad\u05d1", "\u05d0\u05d1"],
])("in a password %s", (_rule, password, expected) => {
  expect(prepared(password)).toBe(expected);
});

test.each([
  ["of ASCII, with control characters", "tab\there \x7f"],
  ["of soft hyphens alone", "\u00ad\u00ad"],
  ["with an emoji, which is newer than the rules", "\ufb01\u{1f642}"],
  ["with a control character beside a letter", "\ufb01\t"],
  ["with a character for private use", "\ufb01\ue000"],
  ["with a mark of direction", "\ufb01\u200e"],
  ["with letters of both directions", "\ufb01\u05d0"],
  ["from right to left with a letter of the other direction within", "\u05d0\uff41\u05d0"],
  ["that only begins from right to left", "\u05d0\ufe0f1"],
  ["with more marks in a row than any language has", `\ufb01${"\u0345\u0334".repeat(15)}\u0345`],
  ["with more letters in a row that become marks", `\ufb01${"\u0345\uff9e\uff9f".repeat(10)}\uff9e`],
])("a password %s counts as it is", (_kind, password) => {
  expect(prepared(password)).toBe(password);
});

it("a password keeps letters beyond the first plane", () => {
  expect(prepared("\u{10400}\u00ad\u{1d54f}")).toBe("\u{10400}X");
});

it.each([
  // Each set looked through for each letter takes more than ten seconds.
  ["letters", "\u05d0".repeat(8_000_000)],
  // Each moved past all of the others takes more than ten seconds.
  ["marks", `a${"\u0345".repeat(60_000)}${"\u0334".repeat(60_000)}`],
  ["letters that become marks", `a${`${"\u0345".repeat(30)}\uff9e`.repeat(1500)}${"\uff9e".repeat(50_000)}`],
])("a long password of %s of a stranger is prepared in no more time than its bytes take", (_kind, long) => {
  const before = process.cpuUsage();
  expect(prepared(long) === long).toBe(true);
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});
