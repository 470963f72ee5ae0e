import { expect, it } from "vitest";
import { formOf } from "../../../src/service/console/form.ts";

const headers = { "content-type": "application/x-www-form-urlencoded" };
const sent = (count: number) => formOf({ method: "POST", path: "/app/sign-in", headers, body: named(count).join("&") });
const named = (count: number) => Array.from({ length: count }, (_, at) => `f${at}=%26`);

it("a form has the fields that were sent, and one with more than any of ours has none", () => {
  expect(Object.entries(sent(64))).toEqual(named(64).map((_, at) => [`f${at}`, "&"]));
  expect(sent(65)).toEqual({});
});

it("a body of another kind, and none at all, is an empty form", () => {
  const other = { method: "POST", path: "/", headers: { "content-type": "text/plain" }, body: "a=b" };
  expect([formOf(other), formOf({ method: "POST", path: "/", headers })]).toEqual([{}, {}]);
});
