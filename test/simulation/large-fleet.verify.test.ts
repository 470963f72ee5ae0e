import { expect, test } from "vitest";
import { minutesToCreate, perMinute, secondsToSend } from "./large-fleet.ts";

test("2,000 projects with a Compute each are created in the time that a list and a write of each need", async () => {
  const most = (1.3 * 2 * 2000) / perMinute;
  expect(await minutesToCreate(2000, most)).toBeLessThanOrEqual(most);
});

test("in a settled fleet of 2,000 projects an edit and a deletion are sent within 5 s, and refreshes stretch", async () => {
  const { patch, deletion, message, refreshSeconds } = await secondsToSend(2000);
  expect(patch).toBeLessThanOrEqual(5);
  expect(deletion).toBeLessThanOrEqual(5);
  expect(message).toContain("listed less often than spec.refreshInterval says");
  // 2,000 lists at 700 a minute.
  expect(refreshSeconds).toBeGreaterThan(160);
  expect(refreshSeconds).toBeLessThan(190);
});
