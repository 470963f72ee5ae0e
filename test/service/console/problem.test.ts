import { expect, it } from "vitest";
import { problemOf } from "../../../src/service/console/problem.ts";
import { StatementFailed } from "../../../src/service/domain/queries.ts";
import { Refusal } from "../../../src/service/refusal.ts";

it.each([
  [404, "Not found", "It may have been deleted, or it belongs to somebody else."],
  [403, "Not allowed", "Ask an administrator of the organization."],
  [423, "Busy", "Something is still in progress in this project. Nothing was changed: try again in a few seconds."],
  [400, "Not done", "Nothing was changed."],
  [409, "Not done", "Nothing was changed."],
  [422, "Not done", "Nothing was changed."],
])("a refusal with %i is shown as %j with advice of its own", (status, title, advice) => {
  expect(problemOf(new Refusal(status, "no"))).toEqual({ title, message: "No.", advice });
});

it("a statement that failed is said to have changed nothing, unless it was allowed to: it may have committed", () => {
  const adviceOf = (writes: boolean) => problemOf(new StatementFailed("no", writes)).advice;
  expect(adviceOf(false)).toBe("Nothing was changed.");
  expect(adviceOf(true)).toBe("Nothing was changed, but for what the statement had committed before.");
});

it.each([
  ["the branch is gone", "The branch is gone."],
  ["the branch is gone.", "The branch is gone."],
  ["gone!", "Gone!"],
  ["is it gone?", "Is it gone?"],
  ['branch already exists; branch_name:"one"', 'Branch already exists; branch_name:"one"'],
  ["invalid request body: key_name: is too long", "The name is too long."],
  ["endpoint.autoscaling_limit_min_cu: must be a size", "The smallest size must be a size."],
  ["endpoint.autoscaling_limit_max_cu: must be a size", "The largest size must be a size."],
  ["endpoint.suspend_timeout_seconds: must be a number", "Scale to zero must be a number."],
  ["it cannot be off: leave suspend_timeout_seconds at 0", "It cannot be off: leave it on."],
])("the message %j is shown as the sentence %j", (message, sentence) => {
  expect(problemOf(new Refusal(400, message)).message).toBe(sentence);
});
