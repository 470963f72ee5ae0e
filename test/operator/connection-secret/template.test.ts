import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { filledIn } from "../../../src/operator/connection-secret/template.ts";

const details = {
  host: "ep-one.example.com",
  "pooled-host": "ep-one-pooler.example.com",
  port: "5432",
  database: "shop",
  username: "app",
  password: "p@ss w",
  uri: "postgresql://app:p%40ss%20w@ep-one.example.com/shop?sslmode=require",
  "pooled-uri": "postgresql://app:p%40ss%20w@ep-one-pooler.example.com/shop?sslmode=require",
};

const [, table = ""] =
  /value in the template\|in the Secret\n\|---\|---\|\n(.*?)\n\n/s.exec(readFileSync("docs/reference.md", "utf8")) ??
  [];
const rows = [...table.matchAll(/^`(.*?)`\|`(.*?)`$/gm)].map(([, written = "", filled = ""]) => [written, filled]);

test.each(rows)("the table of the reference is true: %s", (written, filled) => {
  expect(filledIn({ data: { key: written ?? "" } }, details)).toEqual({ kind: "filled", data: { key: filled } });
});

test("the address of a host with colons stands in brackets within a URI only", () => {
  const data = { url: "postgres://{username}@{host}:{port}", plain: "{host}" };
  expect(filledIn({ data }, { ...details, host: "::1" })).toEqual({
    kind: "filled",
    data: { url: "postgres://app@[::1]:5432", plain: "::1" },
  });
});

test("a URI within a URI is percent-encoded as a whole", () => {
  expect(filledIn({ data: { key: "https://admin.example.com/?at={uri}" } }, { uri: "postgresql://a:b@c/d" })).toEqual({
    kind: "filled",
    data: { key: "https://admin.example.com/?at=postgresql%3A%2F%2Fa%3Ab%40c%2Fd" },
  });
});

test("what is filled in is never taken for a placeholder", () => {
  const password = "{uri}$&{host}";
  expect(filledIn({ data: { key: "{password} {username}" } }, { ...details, password })).toEqual({
    kind: "filled",
    data: { key: "{uri}$&{host} app" },
  });
});

test("a placeholder that nothing fills is named with its key", () => {
  const { "pooled-host": _, ...without } = details;
  expect(filledIn({ data: { a: "{host}", b: "x {pooled-host}" } }, without)).toEqual({
    kind: "missing",
    key: "b",
    placeholder: "{pooled-host}",
  });
});

test("what comes to more than a Secret holds is not filled in to its end", () => {
  // A percent sign that is encoded has three characters.
  const data = { first: "{password}".repeat(100), second: "x://{password}" };
  const filled = (length: number) => filledIn({ data }, { password: "%".repeat(length) });
  expect(filled(10_180)).toMatchObject({ kind: "filled" });
  expect(filled(10_181)).toEqual({ kind: "tooLarge" });
});
