import { expect, it, test } from "vitest";
import { JsonSize } from "../../../src/service/http/json-size.ts";
import { Shop } from "../support/shop.ts";

const limits = { depth: 3, width: 4, values: 12, string: 8, escapes: 2, names: 604 };

/** What is too much in a text that comes in pieces of a length. */
function excess(text: string, length = text.length): string | undefined {
  const bytes = Buffer.from(text);
  const size = new JsonSize(limits);
  for (let at = 0; at < bytes.length; at += length) {
    const found = size.push(bytes.subarray(at, at + length));
    if (found !== undefined) return found;
  }
  return undefined;
}

test.each([
  ["[0,0,0,0]", undefined],
  ["[0,0,0,0,0]", "an array or an object with more than 4 elements"],
  ['{"a":0,"a":0,"a":0,"a":0,"a":0}', "an array or an object with more than 4 elements"],
  ["[[[0]]]", undefined],
  ["[[[[", "more than 3 arrays and objects within one another"],
  ['{"a":[{"b":[]}]}', "more than 3 arrays and objects within one another"],
  ["[[0,0,0],[0,0,0],[0,0]]", undefined],
  ["[[0,0,0],[0,0,0],[0,0,0]]", "more than 12 values"],
  ['"12345678"', undefined],
  ['"123456789"', "a string of more than 8 bytes"],
  ['"éééé"', undefined],
  ['"ééééé"', "a string of more than 8 bytes"],
  ['["[[[[,,,"]', undefined],
  ['["\\",,,,,"]', undefined],
  ['["\\\\",0,0,0,0]', "an array or an object with more than 4 elements"],
  ["]]]]}}}}[0,0]", undefined],
  ['{"a":{"b":{"c":0}},"d":":"}', undefined],
  ['{"a":{"b":{"c":0}},"de":0}', "more names of fields than fit into 604 bytes"],
  [String.raw`["\n","\\"]`, undefined],
  [String.raw`["\n","\n","\u0041"]`, "more than 2 escapes in strings"],
  [String.raw`"\\\\\\"`, "more than 2 escapes in strings"],
])("%s has too much of: %s, however it is cut into pieces", (text, found) => {
  expect([excess(text), excess(text, 1), excess(text, 2), excess(text, 3)]).toEqual([found, found, found, found]);
});

it("a body with too much is refused with the limit that it breaks, and an error names no more than a client can use", () => {
  const shop = new Shop();
  const ips = Array.from({ length: 1001 }, () => "10.0.0.1");
  const long = shop.ana("PATCH /projects/ana-own", { project: { settings: { allowed_ips: { ips } } } });
  expect([long.status, long.body["message"]]).toEqual([
    400,
    "the request body has an array or an object with more than 1000 elements",
  ]);
  const unknown = Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`unknown_field_${n}`, n]));
  const refused = shop.ana("PATCH /projects/ana-own", { project: { name: "new", ...unknown } });
  expect(refused.status).toBe(400);
  expect(String(refused.body["message"])).toMatch(/^invalid request body: project: Unrecognized keys: .{200,300}…$/);
});
