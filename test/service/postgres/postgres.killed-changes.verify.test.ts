import { expect, it } from "vitest";
import { killAmidChanges } from "./killed-changes.ts";

it("killed amid changes by its API, the service keeps what it answered, and ends every operation", async () => {
  const { problems, answered } = await killAmidChanges(2);
  expect(problems).toEqual([]);
  expect(answered["branch"]).toBeGreaterThan(0);
}, 600_000);
