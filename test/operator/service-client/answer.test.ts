import { describe, expect, test } from "vitest";
import { type Failure, failureOf, steadyMessage } from "../../../src/operator/service-client/answer.ts";
import type { ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { json, refusal } from "../../support/scripted-service.ts";

/**
 * How each answer is sorted: what the service says itself to a write, to a read; then the same status from a stranger.
 */
const table: ReadonlyArray<readonly [number, Failure["kind"], Failure["kind"], Failure["kind"], Failure["kind"]]> = [
  // status, own to a write, own to a read, a stranger's to a write, a stranger's to a read
  [301, "ambiguous", "unavailable", "ambiguous", "unavailable"],
  [307, "ambiguous", "unavailable", "ambiguous", "unavailable"],
  [400, "refused", "refused", "ambiguous", "unavailable"],
  [401, "unauthorized", "unauthorized", "ambiguous", "unauthorized"],
  [403, "forbidden", "forbidden", "ambiguous", "forbidden"],
  [404, "notFound", "notFound", "ambiguous", "unavailable"],
  [405, "refused", "refused", "ambiguous", "unavailable"],
  [408, "ambiguous", "unavailable", "ambiguous", "unavailable"],
  [409, "refused", "refused", "ambiguous", "unavailable"],
  [412, "refused", "refused", "ambiguous", "unavailable"],
  [422, "refused", "refused", "ambiguous", "unavailable"],
  [423, "busy", "busy", "ambiguous", "unavailable"],
  [425, "ambiguous", "unavailable", "ambiguous", "unavailable"],
  [429, "rateLimited", "rateLimited", "ambiguous", "rateLimited"],
  [500, "ambiguous", "unavailable", "ambiguous", "unavailable"],
  [502, "ambiguous", "unavailable", "ambiguous", "unavailable"],
  [503, "unavailable", "unavailable", "ambiguous", "unavailable"],
  [504, "ambiguous", "unavailable", "ambiguous", "unavailable"],
  [599, "ambiguous", "unavailable", "ambiguous", "unavailable"],
];

const strangers: Readonly<Record<string, Partial<ServiceResponse>>> = {
  "no body": { body: undefined, json: false },
  HTML: { body: undefined, json: false },
  "JSON of somebody else's": { body: { error: "upstream connect error" }, json: true },
  "a message without a code": { body: { message: "no" }, json: true },
  "a code without a message": { body: { code: "" }, json: true },
  "a list": { body: [{ code: "", message: "no" }], json: true },
  null: { body: null, json: true },
};

describe.each(table)("HTTP %i", (status, ownWrite, ownRead, strangeWrite, strangeRead) => {
  test("an answer in the service's own words is what the service says", () => {
    expect(failureOf(refusal(status), true).kind).toBe(ownWrite);
    expect(failureOf(refusal(status), false).kind).toBe(ownRead);
  });

  test.each(Object.entries(strangers))("an answer with %s, as from a proxy, proves less", (_, rest) => {
    const answer = { body: undefined, json: false, ...rest, status };
    expect(failureOf(answer, true).kind).toBe(strangeWrite);
    expect(failureOf(answer, false).kind).toBe(strangeRead);
  });
});

describe("what the service says counts more than its status", () => {
  test.each([
    ["branch not ready yet", "notReady"],
    ["endpoint Not Ready", "notReady"],
    ["min must not exceed max", "refused"],
  ])("422 %s is %s", (message, kind) => {
    expect(failureOf(refusal(422, message), true).kind).toBe(kind);
  });

  test.each([
    'not allowed to perform actions outside the project this key is scoped to; subject_project_id:"shop"',
    "not allowed for organization API keys",
  ])("404 %s is for want of rights, never proof that something is gone", (message) => {
    for (const write of [true, false])
      expect(failureOf(refusal(404, message), write)).toEqual({ kind: "forbidden", message });
  });
});

test("a pause that the service asks for is passed on, of five minutes at most; that of a proxy is not", () => {
  for (const status of [423, 429, 503]) {
    expect(failureOf({ ...refusal(status), retryAfterMs: 7000 }, true)).toMatchObject({ retryAfterMs: 7000 });
  }
  expect(failureOf({ ...refusal(503), retryAfterMs: 3_600_000 }, false)).toMatchObject({ retryAfterMs: 300_000 });
  for (const status of [429, 500, 503]) {
    expect(failureOf(json(status, {}, { retryAfterMs: 7000 }), false)).not.toHaveProperty("retryAfterMs");
  }
});

test("a long message is cut, a redirect is named, and nothing else of an unknown body is shown", () => {
  expect(failureOf(refusal(400, "x".repeat(10_000)), true).message).toHaveLength(301);
  expect(failureOf(refusal(400, "x".repeat(300)), true).message).toBe("x".repeat(300));
  expect(failureOf(json(302, "secret"), true).message).toBe("HTTP 302: a redirect, which is never followed");
  expect(failureOf(json(500, { error: "secret" }), true).message).toBe("HTTP 500");
});

test.each([
  [200, false, "HTTP 200 with a body that is not the service's"],
  [299, true, "HTTP 299 with a body that is not the service's"],
  [300, true, "HTTP 300: a redirect, which is never followed"],
  [399, false, "HTTP 399: a redirect, which is never followed"],
  [400, true, "HTTP 400"],
  [400, false, "HTTP 400 with a body that is not JSON"],
])("what is no answer of the service's is described: %i, JSON %s", (status, isJSON, message) => {
  expect(failureOf({ status, json: isJSON, body: isJSON ? {} : undefined }, true).message).toBe(message);
});

test.each([
  ["request 7 was refused", "request 8 was refused", "request 7 was refused"],
  ["try again at 12:00:01Z (id 0f3a-1)", "try again at 12:05:09Z (id 9c01-77)", "try again at 12:00:01Z (id 0f3a-1)"],
  ["HTTP 500", "HTTP 502", "HTTP 502"],
  ["branch not found", "project not found", "project not found"],
  ["size 8 is too large", "no such branch 8", "no such branch 8"],
  [undefined, "busy 1", "busy 1"],
])("a message that differs only in numbers is steady: after %j, %j is reported as %j", (before, now, reported) => {
  expect(steadyMessage(before, now)).toBe(reported);
});

test("a message of the service is one line, which a terminal shows and does not obey", () => {
  const answer = failureOf(refusal(409, "it is\u001b[2J\u009b2J\r\nReady\u202e: True"), true);
  expect(answer).toMatchObject({ kind: "refused", message: "it is [2J 2J Ready : True" });
});
