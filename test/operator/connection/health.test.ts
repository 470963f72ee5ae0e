import { describe, expect, test } from "vitest";
import { keyTypeShownBy, probeInterval, shownBy } from "../../../src/operator/connection/health.ts";

describe("what a list of projects shows", () => {
  const reachable = { kind: "reachable" } as const;

  test("keeps its message where the service only changes a counter or a request id in it", () => {
    const refused = (id: string) => ({ kind: "forbidden", message: `no right, request ${id}` }) as const;
    const first = shownBy(refused("a1"), undefined, { health: reachable, unlisted: undefined });
    const second = shownBy(refused("b2"), undefined, first);
    expect([first.unlisted?.message, second.unlisted?.message]).toEqual([
      "no right, request a1",
      "no right, request a1",
    ]);
    const failed = (id: string) => ({ kind: "unavailable", message: `request ${id} failed` }) as const;
    const third = shownBy(failed("c3"), undefined, second);
    expect(shownBy(failed("d4"), undefined, third)).toEqual({
      health: { kind: "unreachable", message: "request c3 failed" },
      unlisted: undefined,
    });
  });
});

test("a key of one project stays one, whatever kind /auth reports: it calls such a key an organization's", () => {
  expect(["api_key_org", "api_key_user", "other"].map((method) => keyTypeShownBy(method, "project"))).toEqual([
    "project",
    "project",
    "project",
  ]);
  expect(["api_key_org", "api_key_user", "other"].map((method) => keyTypeShownBy(method, "personal"))).toEqual([
    "organization",
    "personal",
    "personal",
  ]);
});

test.each([
  ["unknown", [10_000, 10_000, 10_000]],
  ["reachable", [600_000, 600_000, 600_000]],
  ["unreachable", [5000, 5000, 10_000, 20_000, 40_000, 60_000, 60_000]],
  ["unauthorized", [60_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000]],
] as const)("the probe of a service that is %s follows after 0, 1, 2 … failed probes in %j ms", (kind, expected) => {
  const health = kind === "unknown" || kind === "reachable" ? { kind } : { kind, message: "no" };
  expect(expected.map((_, failed) => probeInterval(health, failed))).toEqual(expected);
});
