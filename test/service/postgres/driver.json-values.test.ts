import { Field } from "pg-protocol/dist/messages.js";
import { expect, it } from "vitest";
import { AnswerRows, AnswerText } from "../../../src/service/postgres/driver/answer-text.ts";
import { jsonOfType } from "../../../src/service/postgres/driver/json-values.ts";
import { AnswerTooLarge } from "../../../src/service/postgres/session/sql-client.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { cpuOf, parseZeros } from "../fuzz/work.ts";

/** The JSON of a row with one value of a type, or the reason why there is none. */
async function written(dataTypeID: number, value: string | null, rawText = false): Promise<unknown> {
  const text = new AnswerText(new Shares().of("one"), 64_000_000);
  const answer = new AnswerRows(text, { arrayMode: true, rawText });
  const reason = answer.add([value], [new Field("one", 0, 0, dataTypeID, -1, -1, "text")]);
  return reason ?? Buffer.concat(await text.end()).toString();
}

it.each([
  ["bool", 16, "t", "[true]"],
  ["bool", 16, "f", "[false]"],
  ["int2", 21, "-32768", "[-32768]"],
  ["int4", 23, "2147483647", "[2147483647]"],
  ["int8", 20, "9007199254740993", '["9007199254740993"]'],
  ["numeric", 1700, "1.10", '["1.10"]'],
  ["float4", 700, "1e-05", "[1e-05]"],
  ["float8", 701, "-1.5", "[-1.5]"],
  ["float8", 701, "NaN", '["NaN"]'],
  ["float8", 701, "-Infinity", '["-Infinity"]'],
  ["json", 114, '{ "a": 1e400, "a": null }', '[{ "a": 1e400, "a": null }]'],
  ["jsonb", 3802, "null", "[null]"],
  ["text", 25, "t", '["t"]'],
  ["oid", 26, "1", '["1"]'],
  ["an enum", 16_400, "1", '["1"]'],
  ["bool[]", 1000, "{t,NULL,f}", "[[true,null,false]]"],
  ["int2[]", 1005, "{1}", "[[1]]"],
  ["int4[]", 1007, "{}", "[[]]"],
  ["int4[]", 1007, "{{1,2},{3,4}}", "[[[1,2],[3,4]]]"],
  ["int4[] with bounds", 1007, "[0:1][-1:0]={{1,2},{3,4}}", "[[[1,2],[3,4]]]"],
  ["float4[]", 1021, "{1.5,NaN}", '[[1.5,"NaN"]]'],
  ["float8[]", 1022, "{1e+20,-Infinity}", '[[1e+20,"-Infinity"]]'],
  ["json[]", 199, String.raw`{"{\"a\": [1, \"\\\\\"]}",1}`, String.raw`[[{"a": [1, "\\"]},1]]`],
  ["jsonb[]", 3807, '{"[1, 2]",null}', "[[[1, 2],null]]"],
  ["int8[]", 1016, "{1}", '[["1"]]'],
  [
    "text[]",
    1009,
    String.raw`{"","NULL",NULL,"a \"b\", {c}\\d=",e=f}`,
    String.raw`[["","NULL",null,"a \"b\", {c}\\d=","e=f"]]`,
  ],
  ["text[] with the end of a line", 1009, '{"a\nb"}', String.raw`[["a\nb"]]`],
  ["text[] with what JSON escapes", 1009, "{a\u0001b}", String.raw`[["a\u0001b"]]`],
  ["text[] of names of numbers", 1009, "{N,NULLS,-I,nul,null}", '[["N","NULLS","-I","nul","null"]]'],
  ["timestamptz[]", 1185, '{"2026-01-02 03:04:05+00"}', '[["2026-01-02 03:04:05+00"]]'],
  ["box[]", 1020, "{(1,1),(0,0);(2,2),(1,1)}", '["{(1,1),(0,0);(2,2),(1,1)}"]'],
  ["an enum's array", 16_401, "{a,b}", '["{a,b}"]'],
])(
  "a value of %s (type %i), %j, is answered as JSON %s, and as text only where that is asked for",
  async (_, type, value, json) => {
    expect(await written(type, value)).toBe(json);
    expect(await written(type, value, true)).toBe(JSON.stringify([value]));
    expect(await written(type, null)).toBe("[null]");
  },
);

it("a row whose arrays have more than 250,000 characters is refused with the header that answers it", async () => {
  const array = (length: number) => `{${"1".repeat(length - 2)}}`;
  const row = async (lengths: number[], rawText = false) => {
    const text = new AnswerText(new Shares().of("one"), 64_000_000);
    const fields = [...lengths, 0].map(
      (length, at) => new Field("one", 0, at, length === 0 ? 25 : 1009, -1, -1, "text"),
    );
    const values = [...lengths.map(array), "x".repeat(300_000)];
    const answer = new AnswerRows(text, { arrayMode: true, rawText });
    return answer.add(values, fields) ?? answer.add(values, fields) ?? Buffer.concat(await text.end()).toString();
  };
  const refused = new AnswerTooLarge(
    "a row whose arrays have more than 250000 characters is answered as text alone (Neon-Raw-Text-Output: true)",
  );
  expect(await row([100_000, 150_000])).toMatch(/^\[\["1+"\],\["1+"\],"x+"\],\[\[/);
  expect(await row([250_001])).toEqual(refused);
  expect(await row([100_000, 150_001])).toEqual(refused);
  expect(await row([250_001], true)).toMatch(/^\["\{1+\}","x+"\],/);
});

it("a row of many long arrays is refused without a look at each", async () => {
  const before = process.cpuUsage();
  const text = new AnswerText(new Shares().of("one"), 64_000_000);
  const fields = Array.from({ length: 1600 }, () => new Field("one", 0, 0, 1007, -1, -1, "text"));
  const value = `{${"1,".repeat(20_000)}1}`;
  const row = fields.map(() => value);
  expect(new AnswerRows(text, { arrayMode: true, rawText: false }).add(row, fields)).toBeInstanceOf(AnswerTooLarge);
  // All of them take six seconds.
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});

it.each(["\u{1f642}", "é", "x"])("a long value of JSON with %j is the same after its slices", async (part) => {
  for (const shift of ["", "y"]) {
    const json = JSON.stringify(shift + part.repeat(200_000));
    expect(await written(114, json)).toBe(`[${json}]`);
  }
});

it.each([
  ["texts", 1009, "1"],
  ["booleans", 1000, "t"],
  ["numbers", 1022, "1"],
  ["empty texts", 1009, '""'],
])("an array of as many %s as are read is made JSON in a few milliseconds", (_kind, type, element) => {
  const array = `{${`${element},`.repeat(249_990 / (element.length + 1))}${element}}`;
  const json = jsonOfType(type);
  const once = () => void json?.(array);
  // A call for each element takes three times as long as to parse a megabyte, and more.
  const measure = cpuOf(parseZeros, 10);
  cpuOf(once, 10);
  expect(cpuOf(once, 20)).toBeLessThan(2 * measure);
});
