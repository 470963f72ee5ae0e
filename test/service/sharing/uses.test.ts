import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { Uses } from "../../../src/service/sharing/uses.ts";

it("a directory is used from before a server starts until the last one on it has ended, or could not start", async () => {
  const used = new Uses();
  const [started, end, otherEnd] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
  ];
  const starting = used.by("data", async () => {
    await started.promise;
    return { ended: end.promise };
  });
  expect([used.has("data"), used.has("other")]).toEqual([true, false]);
  started.resolve();
  await starting;
  await used.by("data", () => Promise.resolve({ ended: otherEnd.promise }));
  await expect(used.by("data", () => Promise.reject(new Error("no room")))).rejects.toThrow("no room");
  end.resolve();
  await turn();
  expect(used.has("data")).toBe(true);
  otherEnd.resolve();
  await expect.poll(() => used.has("data")).toBe(false);
  await expect(used.by("data", () => Promise.reject(new Error("no room")))).rejects.toThrow("no room");
  expect(used.has("data")).toBe(false);
});
