import { expect, test } from "vitest";
import { minutesToCreate, perMinute, secondsToSend } from "./large-fleet.ts";

test("1,000 projects with a Compute each are created in the time that a list and a write of each need", async () => {
  const most = (1.3 * 2 * 1000) / perMinute;
  expect(await minutesToCreate(1000, most)).toBeLessThanOrEqual(most);
});

test("below the limit of the budget, refreshes keep their interval and nothing is said of it", async () => {
  const { patch, message, refreshSeconds } = await secondsToSend(200);
  expect(patch).toBeLessThanOrEqual(1);
  expect(message).toBe("The service accepts the API key.");
  expect(refreshSeconds).toBeGreaterThanOrEqual(30);
  expect(refreshSeconds).toBeLessThan(31);
});
