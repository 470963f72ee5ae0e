import { expect, test } from "vitest";
import { ClusterError, ClusterUnreachable } from "../../../src/operator/kube/errors.ts";
import { createLogger, type LogLevel, readableLines } from "../../../src/operator/runtime/log.ts";
import { ApiKey } from "../../../src/operator/service-client/account.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const secret = "s3cr3t-key";

function setUp({ level = "debug", readable = false }: { level?: LogLevel; readable?: boolean } = {}) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({
    level,
    destination: readable ? readableLines(destination) : destination,
    clock: new VirtualClock(),
  });
  return { log, lines };
}

/** An error as libraries create it, with the whole request attached. */
function errorWithRequest(message: string): Error {
  return Object.assign(new Error(message), {
    status: 401,
    request: { headers: { Authorization: `Bearer ${secret}` } },
    config: { apiKey: secret },
  });
}

function unanswered(cause: Error): Error {
  return new ClusterUnreachable(`GET /api/v1/secrets: ${cause.message}`, { cause });
}

const levels = ["debug", "info", "warn", "error"] as const;

test.each([...levels, "silent"] as const)("at level %s lower levels are neither written nor evaluated", (level) => {
  const { log, lines } = setUp({ level });
  const evaluated: string[] = [];
  for (const each of levels) {
    const fields = {
      get field() {
        evaluated.push(each);
        return secret;
      },
    };
    log[each](fields, each);
  }
  const wanted = level === "silent" ? [] : levels.slice(levels.indexOf(level));
  expect(lines.map((line) => JSON.parse(line).level)).toEqual(wanted);
  expect([...new Set(evaluated)]).toEqual(wanted);
});

test("a line is one JSON object with time, level, message, its fields and those of its logger", () => {
  const { log, lines } = setUp();
  log.child({ compute: "shop/primary" }).info({ step: "create" }, "Created");
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    time: "2026-01-01T00:00:00.000Z",
    level: "info",
    compute: "shop/primary",
    step: "create",
    message: "Created",
  });
  expect(lines[0]?.endsWith("}\n")).toBe(true);
});

test("a line is not written below the level", () => {
  const { log, lines } = setUp({ level: "warn" });
  log.debug({}, "no");
  log.info({}, "no");
  log.warn({}, "yes");
  log.error({}, "yes");
  expect(lines).toHaveLength(2);
});

test("a line has an error with its causes, without what a library attached to it", () => {
  const { log, lines } = setUp();
  const error = new Error("list failed", { cause: errorWithRequest("no rights") });
  log.error({ error }, "Cannot list");
  const line: unknown = JSON.parse(lines[0] ?? "");
  expect(line).toMatchObject({
    error: { name: "Error", message: "list failed", cause: { message: "no rights", status: 401 } },
  });
  expect(lines[0]).not.toContain(secret);
});

test.each([
  ["a mistake of ours", new Error("no such state"), true],
  ["a refusal", new ClusterError({ status: 403, reason: "Forbidden", message: "no" }), false],
  ["a request without an answer", unanswered(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })), false],
  ["an answer that is no JSON", unanswered(new SyntaxError("Unexpected token <")), false],
  ["a host that is no URL", unanswered(Object.assign(new TypeError("Invalid"), { code: "ERR_INVALID_URL" })), false],
  ["a mistake of ours on the way to an answer", unanswered(new TypeError("x is not a function")), true],
])("a line tells %s with a stack only where a program is wrong", (_what, error, stack) => {
  const { log, lines } = setUp();
  log.warn({ error }, "Failed");
  expect(lines[0]).toContain(error.message);
  expect(lines[0]?.includes('"stack"')).toBe(stack);
});

test.each([
  ["a header", { headers: { Authorization: `Bearer ${secret}` } }],
  ["a header deep inside", { request: { options: [{ headers: { authorization: secret } }] } }],
  ["a key by its name", { "api-key": secret, api_key: secret, apiKey: secret, token: secret, password: secret }],
  ["a key in a text", { note: `sent Authorization: Bearer ${secret}, refused` }],
  ["a connection URI", { url: `postgres://app:${secret}@ep-1.example.com/shop` }],
  ["a Map", { seen: new Map([["cookie", secret]]) }],
  ["an error's message", { error: new Error(`bad header "Bearer ${secret}"`) }],
  ["an error's cause", { error: new Error("x", { cause: errorWithRequest(`https://u:${secret}@host refused`) }) }],
  ["an ApiKey", { credentials: new ApiKey(secret) }],
])("a line never shows a secret: %s", (_where, fields) => {
  for (const readable of [false, true]) {
    const { log, lines } = setUp({ readable });
    log.error(fields, "Failed");
    log.child(fields).warn({}, "Failed");
    expect(lines).toHaveLength(2);
    expect(lines.join("")).not.toContain(secret);
  }
});

test("a line stays bounded", () => {
  const { log, lines } = setUp();
  const circle: Record<string, unknown> = { big: "x".repeat(1_000_000), many: Array.from({ length: 10_000 }) };
  circle.self = circle;
  log.info({ circle, count: 5n }, "Odd");
  expect(lines[0]?.length).toBeLessThan(50_000);
});

test("a line at a terminal is readable text", () => {
  const { log, lines } = setUp({ readable: true });
  log.child({ compute: "shop/primary" }).warn({ error: new TypeError("no such host"), tries: 3 }, "Cannot reach it");
  expect(lines).toEqual([
    '00:00:00.000 WARN  Cannot reach it  compute=shop/primary  error="TypeError: no such host"  tries=3\n',
  ]);
});

test("at a terminal a text is quoted where it would not stand apart, and what is no such line passes as it is", () => {
  const { log, lines } = setUp({ readable: true });
  log.info({ plain: "a-b", spaced: "a b", quoted: 'a"b', equal: "a=b", error: { message: "no name" } }, "Said");
  const odd = ["not JSON\n", "null\n", "7\n"];
  const passed: string[] = [];
  const readable = readableLines({ write: (line) => void passed.push(line) });
  for (const line of odd) readable.write(line);
  expect(lines).toEqual([
    '00:00:00.000 INFO  Said  plain=a-b  spaced="a b"  quoted="a\\"b"  equal="a=b"  error={"message":"no name"}\n',
  ]);
  expect(passed).toEqual(odd);
});
