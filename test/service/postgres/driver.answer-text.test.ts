import { Field } from "pg-protocol/dist/messages.js";
import { expect, it, vi } from "vitest";
import { AnswerRows, AnswerText } from "../../../src/service/postgres/driver/answer-text.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { realClock } from "../../support/real-clock.ts";

const fields = ["id", 'a "name"', "id"].map((name) => new Field(name, 0, 0, 25, -1, -1, "text"));
const rawArrays = { arrayMode: true, rawText: true };
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
  async (arrayMode, shown) => {
    const text = new AnswerText(new Shares().of("one"), 1000);
    const answer = new AnswerRows(text, { arrayMode, rawText: true });
    for (const row of rows) expect(answer.add(row, fields)).toBeUndefined();
    expect(JSON.parse(`[${Buffer.concat(await text.end()).toString()}]`)).toEqual(shown);
  },
);

it.each(["\u0001\u{1f642}", "\u{1f642}", '"\\', "é", "x"])(
  "a long value of %j is the same after its slices",
  async (part) => {
    const text = new AnswerText(new Shares().of("one"), 1_000_000);
    const value = part.repeat(40_000);
    text.addValue(value);
    expect(JSON.parse(Buffer.concat(await text.end()).toString())).toBe(value);
  },
);

it("rows are held as their bytes in the share of their compute, and refused beyond it", async () => {
  const bytes = new Shares(400_000);
  const answer = new AnswerRows(new AnswerText(bytes.of("one"), 1_000_000), rawArrays);
  let added = 0;
  let refused: Error | undefined;
  while (refused === undefined && added < 100_000) {
    refused = answer.add(["0123456789"], fields);
    await answer.room(0);
    added += 1;
  }
  expect(refused?.message).toMatch(/too many bytes/);
  expect(added * 15).toBeGreaterThan(200_000);
  expect(added * 15).toBeLessThan(300_000);
  expect(bytes.all).toBeLessThanOrEqual(200_000);
});

it("a value whose escapes take more than the answer may have is refused before all of them are made", async () => {
  const bytes = new Shares();
  const text = new AnswerText(bytes.of("one"), 1_000_000);
  const answer = new AnswerRows(text, rawArrays);
  expect(answer.add(["\u0001".repeat(900_000)], fields)?.message).toBe("the answer is larger than 1000000 bytes");
  expect(bytes.all).toBeGreaterThan(800_000);
  expect(bytes.all).toBeLessThanOrEqual(1_000_000);
  await expect(text.end()).rejects.toThrow("the answer is larger than 1000000 bytes");
});

it("a value that takes more than the answer may have is made JSON no further than shows that", async () => {
  const text = new AnswerText(new Shares().of("one"), 100_000);
  const made = vi.spyOn(JSON, "stringify");
  text.addValue("x".repeat(10_000_000));
  const calls = made.mock.calls.length;
  made.mockRestore();
  expect(calls).toBeLessThan(20);
  await expect(text.end()).rejects.toThrow("the answer is larger than 100000 bytes");
});

it.each([
  [100_000, 100_000],
  [100_001, "AnswerTooLarge: the answer is larger than 100000 bytes"],
])("an answer of %i bytes, of which 100,000 are its most, ends with %s", async (length, outcome) => {
  const text = new AnswerText(new Shares().of("one"), 100_000);
  text.add("x".repeat(length));
  const ended = text.end().then((pieces) => Buffer.concat(pieces).length, String);
  expect(await ended).toBe(outcome);
});

it("room that is waited for already is asked for once", async () => {
  const bytes = new Shares(2_000_000);
  const [other, own] = [bytes.of("one", realClock), bytes.of("one", realClock)];
  const text = new AnswerText(own, 1_500_000);
  await own.room(1);
  await other.room(900_000);
  text.add("x".repeat(300_000));
  const waiting = [text.room(), text.room()];
  other.release();
  for (const one of waiting) await one;
  await text.end();
  expect(bytes.all).toBe(300_001);
});

it("a value that has come is kept though another one has the room, which was asked for as it came", async () => {
  const bytes = new Shares(8_000_000);
  const [one, two] = [bytes.of("one", realClock), bytes.of("one", realClock)];
  const text = new AnswerText(two, 5_000_000);
  const answer = new AnswerRows(text, rawArrays);
  await two.room(1);
  await one.room(3_999_999);
  const waiting = answer.room(3_000_000);
  expect(waiting).toBeInstanceOf(Promise);
  one.release();
  await waiting;
  expect(answer.add(["x".repeat(3_000_000)], fields)).toBeUndefined();
  expect(Buffer.concat(await text.end()).length).toBe(3_000_004);
  expect(bytes.all).toBe(3_000_005);
});

it("what has come without room is at most a megabyte", async () => {
  const bytes = new Shares(200_000);
  const text = new AnswerText(bytes.of("one", realClock), 5_000_000);
  expect(bytes.of("one").take(100_000)).toBe(true);
  const answer = new AnswerRows(text, rawArrays);
  expect(answer.add(["x".repeat(900_000)], fields)).toBeUndefined();
  expect(answer.add(["x".repeat(200_000)], fields)?.message).toMatch(/too many bytes/);
});

it("what is added while room is waited for counts too", async () => {
  const bytes = new Shares(2_000_000);
  const [other, own] = [bytes.of("one", realClock), bytes.of("one", realClock)];
  const text = new AnswerText(own, 1_500_000);
  await own.room(1);
  await other.room(900_000);
  text.add("x".repeat(300_000));
  const waiting = text.room();
  expect(waiting).toBeInstanceOf(Promise);
  text.add("y".repeat(400_000));
  other.release();
  await waiting;
  expect(Buffer.concat(await text.end()).length).toBe(700_000);
  expect(bytes.all).toBe(700_001);
});
