import { expect, it } from "vitest";
import { pointFrom, pointInWords, recoverySettings } from "../../../../src/service/postgres/data/point.ts";

const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

it.each([
  [{ kind: "time", at } as const, "2026-01-02T03:04:05.678Z", { recovery_target_time: "2026-01-02 03:04:05.678+00" }],
  [
    { kind: "lsn", lsn: "0/16B3748" } as const,
    "LSN 0/16B3748",
    { recovery_target_lsn: "0/16B3748", recovery_target_inclusive: "off" },
  ],
])(
  "a point of a history is kept as text, named in words, and becomes a server's settings: %o",
  (point, words, target) => {
    expect(pointFrom(JSON.stringify(point))).toEqual(point);
    expect(pointInWords(point)).toBe(words);
    expect(recoverySettings(point)).toEqual({ ...target, recovery_target_action: "promote", hot_standby: "off" });
  },
);

it("a text that names no point of a history is refused", () => {
  expect(() => pointFrom('{"kind":"place","at":1}')).toThrow("kind");
});
