import { Field } from "pg-protocol/dist/messages.js";
import { expect, it } from "vitest";
import { Shares } from "../../../src/service/http/shares.ts";
import { AnswerRows, AnswerText } from "../../../src/service/postgres/driver/answer-text.ts";

const fields = ["id", 'a "name"', "id"].map((name) => new Field(name, 0, 0, 25, -1, -1, "text"));
const rows = [
  ["1", "x", "2"],
  [null, 'say "ü"\n', ""],
];

it.each([
  [true, rows],
  [
    false,
    [
      { id: "2", 'a "name"': "x" },
      { id: "", 'a "name"': 'say "ü"\n' },
    ],
  ],
])(
  "rows become JSON as they come, as arrays or with the names of their columns (arrayMode: %j)",
  (arrayMode, shown) => {
    const text = new AnswerText(new Shares().of("one"), 1000);
    const answer = new AnswerRows(text, arrayMode);
    for (const row of rows) expect(answer.add(row, fields)).toBeUndefined();
    expect(JSON.parse(`[${Buffer.concat(text.end()).toString()}]`)).toEqual(shown);
  },
);

it.each(["\u0001\u{1f642}", "\u{1f642}", '"\\', "é", "x"])(
  "a long value of %j is the same after its slices",
  (part) => {
    const text = new AnswerText(new Shares().of("one"), 1_000_000);
    const value = part.repeat(40_000);
    text.addValue(value);
    expect(JSON.parse(Buffer.concat(text.end()).toString())).toBe(value);
  },
);

it("rows are held as their bytes in the share of their compute, and refused beyond it", () => {
  const bytes = new Shares(400_000);
  const answer = new AnswerRows(new AnswerText(bytes.of("one"), 1_000_000), true);
  let added = 0;
  let refused: Error | undefined;
  while (refused === undefined && added < 100_000) {
    refused = answer.add(["0123456789"], fields);
    added += 1;
  }
  expect(refused?.message).toMatch(/too many bytes/);
  expect(added * 15).toBeGreaterThan(200_000);
  expect(added * 15).toBeLessThan(300_000);
  expect(bytes.all).toBeLessThanOrEqual(200_000);
});

it("a value whose escapes take more than the answer may have is refused before all of them are made", () => {
  const bytes = new Shares();
  const text = new AnswerText(bytes.of("one"), 1_000_000);
  const answer = new AnswerRows(text, true);
  expect(answer.add(["\u0001".repeat(900_000)], fields)?.message).toBe("the answer is larger than 1000000 bytes");
  expect(bytes.all).toBeGreaterThan(800_000);
  expect(bytes.all).toBeLessThanOrEqual(1_000_000);
  expect(() => text.end()).toThrow("the answer is larger than 1000000 bytes");
});
