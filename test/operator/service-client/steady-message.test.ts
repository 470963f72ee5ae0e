import { expect, test } from "vitest";
import { steadyMessage } from "../../../src/operator/service-client/answer.ts";

test.each([
  ["request 7 was refused", "request 8 was refused", "request 7 was refused"],
  ["try again at 12:00:01Z (id 0f3a-1)", "try again at 12:05:09Z (id 9c01-77)", "try again at 12:00:01Z (id 0f3a-1)"],
  ["HTTP 500", "HTTP 502", "HTTP 502"],
  ["branch not found", "project not found", "project not found"],
  ["size 8 is too large", "no such branch 8", "no such branch 8"],
  [undefined, "busy 1", "busy 1"],
])("after %j, %j is reported as %j", (before, now, reported) => {
  expect(steadyMessage(before, now)).toBe(reported);
});
