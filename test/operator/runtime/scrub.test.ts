import { describe, expect, test } from "vitest";
import { OperationalError } from "../../../src/operator/runtime/operational-error.ts";
import { scrub } from "../../../src/operator/runtime/scrub.ts";

const secret = "s3cr3t-key";
const scrubbed = (value: unknown) => scrub({ value })["value"];

test.each([
  "Authorization",
  "Proxy-Authorization",
  "Cookie",
  "Set-Cookie",
  "headers",
  "api_key",
  "token",
  "bearer-token",
  "password",
  "uri",
  "connectionURI",
])("a member named %s shows that it is there, and never its value", (name) => {
  for (const value of [secret, 7, { a: secret }, [secret]]) {
    expect(scrub({ [name]: value })).toEqual({ [name]: "[redacted]" });
    expect(scrubbed([{ [name]: value }])).toEqual([{ [name]: "[redacted]" }]);
  }
});

test.each<[string, unknown, unknown]>([
  ["a text", "text", "text"],
  ["a number", 7, 7],
  ["null", null, null],
  ["a bigint", 5n, "5"],
  ["a function", () => secret, undefined],
  ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
  ["no date", new Date(Number.NaN), "Invalid Date"],
  ["what says itself how it is written", { toJSON: () => ({ a: 1, token: secret }) }, { a: 1, token: "[redacted]" }],
  ["a member that is only named so", { toJSON: "text", a: 1 }, { toJSON: "text", a: 1 }],
  ["a list", [1, { a: `Bearer ${secret}` }], [1, { a: "Bearer [redacted]" }]],
  ["a set", new Set(["a", `basic ${secret}`]), ["a", "basic [redacted]"]],
  ["a URL with credentials", `redis://me:${secret}@cache:6379/0`, "redis://me:[redacted]@cache:6379/0"],
  ["a URL with a password alone", `redis://:${secret}@cache:6379/0`, "redis://:[redacted]@cache:6379/0"],
  ["a map", new Map([["a", 1]]), { a: 1 }],
  ["members of one's own", Object.create({ inherited: secret }, { own: { value: 1, enumerable: true } }), { own: 1 }],
])("%s is written as it is", (_, value, written) => {
  expect(scrubbed(value)).toEqual(written);
});

test("a value that holds itself is written to an end", () => {
  const list: unknown[] = [];
  list.push(list);
  const written = { toJSON: (): unknown => written };
  expect(scrubbed(list)).toEqual([[[[[["[…]"]]]]]]);
  expect(scrubbed(written)).toBe("[…]");
});

test("a long value is cut: a list after fifty items, a text after 4,096 characters", () => {
  expect(scrubbed(Array.from({ length: 51 }, (_, n) => n))).toEqual(Array.from({ length: 50 }, (_, n) => n));
  expect(scrubbed("x".repeat(4096))).toBe("x".repeat(4096));
  expect(scrubbed("x".repeat(4097))).toBe(`${"x".repeat(4096)}…`);
});

describe("an error", () => {
  const operational = (message: string, cause?: unknown) =>
    new OperationalError(message, cause === undefined ? {} : { cause });

  test("an error is written with status, reason and code, and nothing else that hangs on it", () => {
    const error = Object.assign(operational("no"), { status: 403, reason: "Forbidden", code: "E", config: secret });
    expect(scrubbed(error)).toStrictEqual({
      name: error.name,
      message: "no",
      status: 403,
      reason: "Forbidden",
      code: "E",
    });
    const odd = Object.assign(operational("no"), { status: { secret }, reason: [secret], code: `Bearer ${secret}` });
    expect(scrubbed(odd)).toStrictEqual({ name: error.name, message: "no", code: "Bearer [redacted]" });
  });

  test("an error is written with six causes", () => {
    const chain = Array.from({ length: 8 }).reduce<OperationalError>(
      (cause, _, n) => operational(`${n}`, cause),
      operational("x"),
    );
    const messages: unknown[] = [];
    let at: unknown = scrubbed(chain);
    while (typeof at === "object" && at !== null && "message" in at && "cause" in at) {
      messages.push(at.message);
      at = at.cause;
    }
    expect([...messages, at]).toEqual(["7", "6", "5", "4", "3", "2", "[…]"]);
  });

  test("an error is written with a cause that is no error, as deep as any value", () => {
    const cause = { token: secret, a: { b: { c: { d: { e: { f: 1 } } } } } };
    expect(scrubbed(operational("no", cause))).toMatchObject({
      cause: { token: "[redacted]", a: { b: { c: { d: { e: "[…]" } } } } },
    });
    expect(scrubbed(operational("no", `Bearer ${secret}`))).toMatchObject({ cause: "Bearer [redacted]" });
  });

  test.each([
    ["what is no operational error", new Error("x"), true],
    ["an operational error", operational("x"), false],
  ])("an error is written with a stack where a program is wrong: %s", (_, error, hasStack) => {
    expect("stack" in Object(scrubbed(error))).toBe(hasStack);
  });

  test.each([TypeError, ReferenceError, RangeError])(
    "keeps the stack of a mistake below a failed request: %o",
    (kind) => {
      expect(scrubbed(operational("no answer", new kind("wrong")))).toMatchObject({
        cause: { stack: expect.stringContaining("wrong") },
      });
      const ofRequest = Object.assign(new kind("invalid"), { code: "ERR_INVALID_URL" });
      expect(scrubbed(operational("no answer", ofRequest))).not.toHaveProperty("cause.stack");
    },
  );
});
