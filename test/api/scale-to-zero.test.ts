import { expect, it } from "vitest";
import { suspendAfterSeconds } from "../../src/api/scale-to-zero.ts";

it("inactivity is five minutes unless set, and never where turned off", () => {
  expect([-1, 0, 60, 3600].map(suspendAfterSeconds)).toEqual([undefined, 300, 60, 3600]);
});
