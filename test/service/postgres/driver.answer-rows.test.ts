import { Field } from "pg-protocol/dist/messages.js";
import { expect, it } from "vitest";
import { BytesInFlight } from "../../../src/service/http/bytes-in-flight.ts";
import { AnswerRows } from "../../../src/service/postgres/driver/answer-rows.ts";

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
    const answer = new AnswerRows(arrayMode, new BytesInFlight().of("one"));
    for (const row of rows) expect(answer.add(row, fields)).toBeUndefined();
    expect(JSON.parse(`[${Buffer.concat(answer.end()).toString()}]`)).toEqual(shown);
  },
);

it("rows are held as their bytes in the share of their compute, and refused beyond it", () => {
  const bytes = new BytesInFlight(400_000);
  const answer = new AnswerRows(true, bytes.of("one"));
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
