import { expect, it } from "vitest";
import { Turns } from "../../../src/service/postgres/turns.ts";

it("gives turns one after another, whether they succeed or not", async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const slow = turns.take("a", async () => {
    await Promise.resolve();
    seen.push("first");
    throw new Error("no");
  });
  const next = turns.take("a", () => Promise.resolve(seen.push("second")));
  const other = turns.take("b", () => Promise.resolve(seen.push("other")));
  await expect(slow).rejects.toThrow("no");
  await Promise.all([next, other]);
  expect(seen.filter((one) => one !== "other")).toEqual(["first", "second"]);
});
