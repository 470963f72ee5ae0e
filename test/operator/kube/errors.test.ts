import { describe, expect, test } from "vitest";
import {
  ClusterError,
  type ClusterErrorInit,
  ClusterUnreachable,
  errorOf,
  errorOfStatus,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isNamespaceTerminating,
  isNotFound,
  isRefusal,
  isStale,
  isTestFailed,
  isTooLarge,
  isTooLargeVersion,
  isTransient,
} from "../../../src/operator/kube/errors.ts";
import { BodyTooLarge } from "../../../src/operator/runtime/http.ts";

const questions = {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isNamespaceTerminating,
  isNotFound,
  isRefusal,
  isStale,
  isTestFailed,
  isTooLarge,
  isTooLargeVersion,
  isTransient,
};

const refused = (status: number, more: Partial<ClusterErrorInit> = {}) =>
  new ClusterError({ status, reason: "", message: "GET /x: no", ...more });
const webhook = "POST /x: 500 Internal error occurred: failed calling webhook";
const notSent = new ClusterUnreachable("GET /x: no answer", { cause: new BodyTooLarge("too large") });

test.each<[string, unknown, (keyof typeof questions)[]]>([
  ["a defect", new Error("404"), []],
  ["something that is no error", { status: 404 }, []],
  ["no answer", new ClusterUnreachable("GET /x: no answer"), ["isTransient"]],
  ["an answer that is too large", notSent, ["isTooLarge", "isTransient"]],
  ["a status of 400", refused(400), []],
  ["a status of 401", refused(401), []],
  ["a status of 403", refused(403), ["isForbidden", "isRefusal"]],
  [
    "a namespace that is being deleted",
    refused(403, { causes: ["NamespaceTerminating"] }),
    ["isForbidden", "isNamespaceTerminating", "isRefusal"],
  ],
  ["a status of 404", refused(404), ["isNotFound"]],
  ["a name that is taken", refused(409, { reason: "AlreadyExists" }), ["isAlreadyExists"]],
  ["a conflict", refused(409, { reason: "Conflict" }), ["isConflict", "isStale"]],
  ["a reason of another status", refused(400, { reason: "AlreadyExists" }), []],
  ["a status of 410", refused(410), ["isGone"]],
  ["a version that has expired", refused(400, { reason: "Expired" }), ["isGone"]],
  ["a failed test of a patch", refused(422, { reason: "Invalid" }), ["isStale", "isTestFailed"]],
  ["an invalid object", refused(422, { reason: "Invalid", subject: "a" }), ["isRefusal"]],
  ["a status of 429", refused(429), ["isTransient"]],
  ["a status of 499", refused(499), []],
  ["a status of 500", refused(500), ["isTransient"]],
  ["a webhook that is not there", refused(500, { message: webhook }), ["isRefusal", "isTransient"]],
  ["a status of 503", refused(503, { message: webhook }), ["isTransient"]],
  ["a status of 504", refused(504), ["isTransient"]],
  [
    "a version that is too large, by its cause",
    refused(504, { causes: ["ResourceVersionTooLarge"] }),
    ["isTooLargeVersion", "isTransient"],
  ],
  [
    "a version that is too large, by its message",
    refused(504, { message: "GET /x: 504 Timeout: Too large resource version: 9, current: 5" }),
    ["isTooLargeVersion", "isTransient"],
  ],
  ["that cause with another status", refused(500, { causes: ["ResourceVersionTooLarge"] }), ["isTransient"]],
])("%s means what it means", (_, error, expected) => {
  const answers = Object.entries(questions).flatMap(([name, asked]) => (asked(error) ? [name] : []));
  expect(answers).toEqual(expected);
});

describe("the error of an answer", () => {
  const status = {
    reason: "Forbidden",
    message: "it is full",
    details: {
      name: "a",
      retryAfterSeconds: 3,
      causes: [{ reason: "Quota" }, "odd", { reason: "NamespaceTerminating" }],
    },
  };

  test("holds what the Status says", () => {
    const { message, status: code, reason, retryAfterMs, details } = errorOf({ status: 403, body: status }, "POST /x");
    expect({ message, code, reason, retryAfterMs, details }).toEqual({
      message: "POST /x: 403 it is full",
      code: 403,
      reason: "Forbidden",
      retryAfterMs: 3000,
      details: { causes: ["Quota", "", "NamespaceTerminating"], subject: "a" },
    });
  });

  test("says that there is no Status, and holds what can be known without one", () => {
    const error = errorOf({ status: 502, body: undefined }, "GET /x");
    expect(error.message).toBe("GET /x: 502 without a Status in the answer");
    expect([error.reason, error.retryAfterMs, error.details]).toEqual(["", undefined, { causes: [], subject: "" }]);
  });

  test.each<[string, number | undefined, unknown, number | undefined]>([
    ["its header, rather than its Status", 7000, 3, 7000],
    ["its header, also where that says now", 0, 3, 0],
    ["its Status", undefined, 1, 1000],
    ["nothing where the Status says 0", undefined, 0, undefined],
    ["nothing where the Status says no number", undefined, "3", undefined],
  ])("waits as long as %s says", (_, retryAfterMs, retryAfterSeconds, expected) => {
    const answer = { status: 429, body: { details: { retryAfterSeconds } } };
    expect(errorOf(retryAfterMs === undefined ? answer : { ...answer, retryAfterMs }, "GET /x").retryAfterMs).toBe(
      expected,
    );
  });

  test("a line of a watch has its status within", () => {
    const said = (object: unknown) => errorOfStatus(object, "watch /x").message;
    expect(said({ code: 410, message: "too old" })).toBe("watch /x: 410 too old");
    expect(said({ code: "410", message: "too old" })).toBe("watch /x: 500 too old");
  });
});
