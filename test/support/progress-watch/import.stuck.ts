import { expect, it } from "vitest";

// Something is to come, and never comes.
await new Promise(() => setInterval(() => {}, 1000));

it("a test that is never declared", () => {
  expect(1).toBe(1);
});
