import { expect, it } from "vitest";
import { Attempts } from "../../../../src/service/postgres/catalog/attempts.ts";
import { Held } from "../../../../src/service/postgres/host/failure.ts";

it("a step that fails keeps no other from being made, waits for locks no longer, and the first failure is told, one that a start ends before others", async () => {
  const statements: string[] = [];
  const query = (sql: string) => {
    statements.push(sql);
    return Promise.resolve([]);
  };
  const attempts = new Attempts({ query, [Symbol.dispose]: () => {} });
  const failing = (why: string) => () => Promise.reject(new Error(why));
  expect(await attempts.make(() => Promise.resolve())).toBe(true);
  expect(statements).toEqual([]);
  expect(await attempts.make(failing("the first"))).toBe(false);
  expect(await attempts.make(failing("the second"))).toBe(false);
  expect(await attempts.make(() => Promise.resolve())).toBe(true);
  expect(statements).toEqual(["SET lock_timeout = '100ms'", "SET lock_timeout = '100ms'"]);
  expect(() => attempts.end()).toThrow("the first");
  await attempts.make(() => Promise.reject(new Held("what a start ends")));
  expect(() => attempts.end()).toThrow("what a start ends");
});

it("steps that were all made have no failure", async () => {
  const attempts = new Attempts({ query: () => Promise.resolve([]), [Symbol.dispose]: () => {} });
  await attempts.make(() => Promise.resolve());
  expect(() => attempts.end()).not.toThrow();
});
