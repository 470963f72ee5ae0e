import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { Bodies } from "../../../src/operator/service-client/bodies.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("the largest of the answers that are too large together is given up, whichever part came last", async () => {
  const bodies = new Bodies({ together: 100, deepest: 8 });
  const streams = [new PassThrough(), new PassThrough(), new PassThrough()] as const;
  const [small, large, late] = streams;
  const read = streams.map((stream) => bodies.text(stream, 90).catch((error: unknown) => String(error)));
  small.write("s".repeat(20));
  large.write("l".repeat(60));
  await settle();
  late.write("x".repeat(30));
  await settle();
  // What the given up one held is free again.
  late.end("x".repeat(30));
  small.end("s".repeat(20));
  expect(await Promise.all(read)).toEqual([
    "s".repeat(40),
    "BodyTooLarge: the answer is the largest of some that are larger than 100 bytes together",
    "x".repeat(60),
  ]);
});

test("answers that are read one after another are no load together, and each may be as large as is read", async () => {
  const bodies = new Bodies({ together: 100, deepest: 8 });
  for (const size of [60, 70, 90]) {
    const stream = new PassThrough();
    stream.end("x".repeat(size));
    expect(await bodies.text(stream, 90)).toHaveLength(size);
  }
});

test.each([
  ['{"a":[[[1]]]}', true],
  ['{"a":[[[[1]]]]}', false],
  ['[{"a":1},{"a":{}},[[]],[[],[[]]]]', true],
  ['{"a":"[[[[[[[["}', true],
  ['{"a":"\\"[[[[[[[["}', true],
  ['{"a":"\\\\"}', true],
  ['{"a\\\\\\"[[[[[[":[[[]]]}', true],
  ['{"a":"\\\\","b":[[[[1]]]]}', false],
  ['"unfinished', false],
  ["]]]]]]", false],
  ["", false],
])("only an answer no deeper than four is read: %s", (text, json) => {
  expect(new Bodies({ together: 1000, deepest: 4 }).parsed(text)).toEqual({
    json,
    body: json ? JSON.parse(text) : undefined,
  });
});
