import { expect, it } from "vitest";

it("a test that ends", () => {
  expect(1).toBe(1);
});

it("a test that never lets go", () => {
  for (;;) expect(1).toBe(1);
});
