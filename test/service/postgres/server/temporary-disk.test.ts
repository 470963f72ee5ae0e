import { expect, it } from "vitest";
import { temporaryDiskKiB } from "../../../../src/service/postgres/server/temporary-disk.ts";

it("sizes the disk for temporary files by the largest size, and by the scale", () => {
  const gibibyte = 1024 ** 2;
  expect(temporaryDiskKiB({ min: 0.25, max: 1 }, 1)).toBe(20 * gibibyte);
  expect(temporaryDiskKiB({ min: 0.25, max: 8 }, 1)).toBe(120 * gibibyte);
  expect(temporaryDiskKiB({ min: 8, max: 8 }, 0.5)).toBe(60 * gibibyte);
});
