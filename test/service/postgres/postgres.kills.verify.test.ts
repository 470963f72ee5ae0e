import { expect, it } from "vitest";
import { killUnderWriters } from "./kills.ts";

it("loses no committed row and leaves no server when the service is killed under writing clients", async () => {
  const { problems, committed } = await killUnderWriters(8);
  expect(problems).toEqual([]);
  expect(committed).toBeGreaterThan(100);
});
