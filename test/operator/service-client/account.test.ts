import { Console } from "node:console";
import { PassThrough } from "node:stream";
import { format, inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { ApiKey } from "../../../src/operator/service-client/account.ts";

const secret = "napi_very-secret";
const key = new ApiKey(secret);

function printed(write: (console: Console) => void): string {
  const stream = new PassThrough();
  write(new Console(stream, stream));
  return String(stream.read() ?? "");
}

describe("an API key shows in no way of printing it:", () => {
  test.each([
    ["text", String(key)],
    ["joined text", ["", key].join(" ")],
    ["JSON", JSON.stringify({ key, list: [key] })],
    ["inspect", inspect({ key }, { depth: 9, showHidden: true, getters: true })],
    ["inspect without the key's own say", inspect(key, { customInspect: false, showHidden: true })],
    ["format", format("%s %o %O %j", key, key, key, key)],
    ["an error", String(new Error(`bad key ${String(key)}`, { cause: key }).stack)],
    ["an inspected error", inspect(new Error("bad", { cause: { key } }))],
    ["console", printed((console) => console.log(key, { key }))],
    ["console.dir", printed((console) => console.dir({ key }, { depth: 9 }))],
    ["console.table", printed((console) => console.table([{ key }]))],
    ["its members", JSON.stringify([Object.entries(key), Object.getOwnPropertyNames(key)])],
    ["a copy", inspect(structuredClone(Object.assign({}, key)))],
    ["its fingerprint", key.fingerprint()],
  ])("%s", (_, text) => {
    expect(text).not.toContain("secret");
  });
});

test("its fingerprint tells keys apart", () => {
  expect(key.fingerprint()).toMatch(/^[0-9a-f]{16}$/);
  expect(key.fingerprint()).toBe(new ApiKey(secret).fingerprint());
  expect(key.fingerprint()).not.toBe(new ApiKey(`${secret}!`).fingerprint());
});
