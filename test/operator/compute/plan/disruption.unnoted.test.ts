import { describe, expect, test } from "vitest";
import { asOf, momentOf } from "../../../../src/operator/compute/observe/moment.ts";
import { broughtTo } from "../../../../src/operator/compute/plan/disruption.ts";
import { compute, input, madeBy } from "../../../support/builders.ts";

// A write that no status tells of shows at the endpoint: its size is another than the status says, and it was changed
// while the entry was in force.

const [night, morning, noon, evening] = ["05:00", "08:30", "12:00", "20:00"].map((time) => `2026-11-25T${time}:00Z`);
const sized = (size: number) => ({ min: size, max: size });
const office = { name: "office", from: "08:00", to: "19:00", computeUnits: sized(4) };

interface Facts {
  at?: string | undefined;
  /** The size at the service, and the time of its last change. */
  size: number;
  changedAt?: string | undefined;
  /** The size of the entry by now. */
  entrySize?: number;
  status?: object;
  generation?: number;
  state?: object;
}

function entry({ at = noon, size, changedAt, entrySize = 4, status, generation = 1, state }: Facts) {
  const stored = compute({
    linked: "ep-one",
    shows: "Active",
    generation,
    spec: { computeUnits: sized(1), schedule: [{ ...office, computeUnits: sized(entrySize) }] },
    status: { appliedEntry: "", appliedGeneration: 1, computeUnits: sized(1), ...status },
  });
  const now = Date.parse(at ?? "");
  const self = asOf(stored, now);
  const shown = { autoscaling_limit_min_cu: size, autoscaling_limit_max_cu: size, updated_at: changedAt };
  const [o, s] = input({ compute: self, endpoints: [madeBy(self, shown)], ...(state && { state }) });
  if (o.kind !== "observed") throw new Error("nothing is seen");
  return broughtTo({ ...o, moment: momentOf(stored, undefined, now) }, s);
}

describe("the entry that the service was brought to", () => {
  test("the entry is the status's while the endpoint has the size that the status shows", () => {
    expect(entry({ size: 1, changedAt: morning })).toBe("");
    expect(entry({ size: 1, changedAt: morning, generation: 2 })).toBe("");
  });

  test("the entry is that of a write without a status, also once it has ended", () => {
    expect(entry({ size: 4, changedAt: morning })).toBe("office");
    expect(entry({ size: 4, changedAt: morning, at: evening })).toBe("office");
    expect(
      entry({ size: 1, changedAt: evening, at: evening, status: { appliedEntry: "office", computeUnits: sized(4) } }),
    ).toBe("");
  });

  test("the entry is that of a write without a status where an edit has given it another size since", () => {
    expect(entry({ size: 4, entrySize: 8, changedAt: morning, generation: 2 })).toBe("office");
  });

  test("the entry stays the status's where somebody resized the endpoint before it came into force", () => {
    expect(entry({ size: 3, changedAt: night })).toBe("");
    expect(entry({ size: 4, changedAt: night })).toBe("");
    expect(entry({ size: 3, changedAt: night, generation: 2 })).toBe("");
  });

  test("the entry stays the status's where no write of ours explains the size", () => {
    expect(entry({ size: 3, changedAt: morning })).toBe("");
  });

  test("the entry stays the status's at a service that shows no time of the last change", () => {
    expect(entry({ size: 4 })).toBe("");
  });

  test("the entry is that of this term's answered write, whatever the endpoint shows", () => {
    const accepted = { endpointID: "ep-one", generation: 2, drift: [], entry: "" };
    expect(entry({ size: 4, changedAt: morning, state: { accepted } })).toBe("");
    const failedWrite = { write: "", reason: "ServiceUnavailable", message: "", failures: 0, until: 0 };
    expect(entry({ size: 4, changedAt: morning, state: { accepted, failedWrite } })).toBe("office");
  });

  test("the entry is unknown before the service was brought to any", () => {
    const status = { appliedGeneration: undefined, appliedEntry: undefined, computeUnits: undefined };
    expect(entry({ size: 4, changedAt: morning, status })).toBeUndefined();
  });
});
