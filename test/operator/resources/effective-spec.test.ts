import { describe, expect, test } from "vitest";
import { effectiveSpec, inForce, isOpen, opensAt, windowsOf } from "../../../src/operator/resources/effective-spec.ts";
import type { Schedule } from "../../../src/operator/resources/schedule.ts";

const at = (text: string) => Date.parse(text);

const office: Schedule[number] = {
  name: "office",
  days: ["Mon", "Tue", "Wed", "Thu", "Fri"],
  from: "08:00",
  to: "19:00",
  computeUnits: { min: 2, max: 8 },
};
const lunch: Schedule[number] = { name: "lunch", from: "12:00", to: "13:00", scaleToZero: { enabled: false } };

// 2026-11-25 is a Wednesday.
const noon = at("2026-11-25T12:00:00Z");

describe("the effective spec", () => {
  const spec = { computeUnits: { min: 1, max: 1 }, scaleToZero: { enabled: true }, postgresSettings: {} };

  test("the effective spec has the fields that the entry in force names in place of its own, and keeps the others", () => {
    const scheduled = { ...spec, schedule: [office] };
    expect(effectiveSpec(scheduled, noon)).toEqual({ ...scheduled, computeUnits: { min: 2, max: 8 } });
    expect(inForce(scheduled.schedule, noon).entry?.name).toBe("office");
  });

  test("the effective spec is the spec itself while no entry is in force, and without a schedule", () => {
    const scheduled = { ...spec, schedule: [office] };
    expect(effectiveSpec(scheduled, at("2026-11-25T19:00:00Z"))).toBe(scheduled);
    expect(inForce(scheduled.schedule, at("2026-11-25T19:00:00Z")).entry).toBeUndefined();
    expect(effectiveSpec(spec, noon)).toBe(spec);
  });

  test("the effective spec follows only the first entry in force, also for fields that it does not name", () => {
    const lunchFirst = { ...spec, schedule: [lunch, office] };
    expect(effectiveSpec(lunchFirst, noon)).toEqual({ ...lunchFirst, scaleToZero: { enabled: false } });
    const officeFirst = { ...spec, schedule: [office, lunch] };
    expect(effectiveSpec(officeFirst, noon)).toEqual({ ...officeFirst, computeUnits: { min: 2, max: 8 } });
  });

  test("a schedule tells when the entry that counts changes: at its end, where another begins, or where an earlier one does", () => {
    expect(inForce([office, lunch], noon)).toEqual({ entry: office, until: at("2026-11-25T19:00:00Z") });
    expect(inForce([lunch, office], at("2026-11-25T09:00:00Z"))).toEqual({ entry: office, until: noon });
    expect(inForce([office], at("2026-11-27T19:00:00Z"))).toEqual({
      entry: undefined,
      until: at("2026-11-30T08:00:00Z"),
    });
  });

  test("the effective spec is asked again for an earlier time after a clock was set back", () => {
    const schedule = [office];
    expect(inForce(schedule, at("2026-11-25T20:00:00Z")).entry).toBeUndefined();
    expect(inForce(schedule, noon).entry).toBe(office);
  });

  test("the effective spec never changes where an earlier entry always holds", () => {
    const always: Schedule[number] = { ...lunch, from: "00:00", to: "00:00" };
    expect(inForce([always, office], noon)).toEqual({ entry: always, until: undefined });
  });
});

describe("windows", () => {
  const sunday = { days: ["Sun"], from: "02:00", to: "05:00" } as const;

  test("windows are those of the Compute, else those of its connection, and none with anyTime", () => {
    const own = { windows: [{ from: "01:00", to: "02:00" }] };
    const ofConnection = { windows: [{ from: "03:00", to: "04:00" }] };
    expect(windowsOf({ disruption: own }, ofConnection)).toBe(own.windows);
    expect(windowsOf({}, ofConnection)).toBe(ofConnection.windows);
    expect(windowsOf({ disruption: { anyTime: true } }, ofConnection)).toBeUndefined();
    expect(windowsOf({}, { anyTime: true })).toBeUndefined();
    expect(windowsOf({}, undefined)).toBeUndefined();
  });

  test("windows open two seconds late and close two seconds early, because the service's clock is not known better", () => {
    const open = (text: string) => isOpen([sunday], at(`2026-11-29T${text}Z`));
    expect(["02:00:00", "02:00:01", "02:00:02", "04:59:57", "04:59:58", "05:00:00"].map(open)).toEqual([
      false,
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  test("windows that touch are one", () => {
    const later = { days: ["Sun"], from: "05:00", to: "06:00" } as const;
    expect(isOpen([sunday, later], at("2026-11-29T05:00:00Z"))).toBe(true);
  });

  test("windows tell when the next one opens, also in the seconds around an opening and a closing", () => {
    expect(opensAt([sunday], noon)).toBe(at("2026-11-29T02:00:00Z"));
    expect(opensAt([sunday], at("2026-11-29T02:00:01Z"))).toBe(at("2026-11-29T02:00:00Z"));
    expect(opensAt([sunday], at("2026-11-29T04:59:59Z"))).toBe(at("2026-12-06T02:00:00Z"));
    expect(opensAt([sunday], at("2026-11-29T05:00:01Z"))).toBe(at("2026-12-06T02:00:00Z"));
  });

  test("windows in an unknown zone never open", () => {
    const lost = { timeZone: "Mars/Olympus", from: "00:00", to: "00:00" };
    expect(isOpen([lost], noon)).toBe(false);
    expect(opensAt([lost], noon)).toBeUndefined();
  });
});
