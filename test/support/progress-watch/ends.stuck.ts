import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";

it.each(Array.from({ length: 8 }, (_, index) => index))("a test that ends: %i", async (index) => {
  expect(await sleep(700, index)).toBe(index);
});
