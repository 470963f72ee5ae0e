import { perMinute } from "../simulation/large-fleet.ts";
import { boundaryBesideEdits, type Counts, settledHour, windowAfterEdits } from "../simulation/scheduled-fleet.ts";
import type { Bench, Figure } from "./figures.ts";

const fleet = { computes: 1000, projects: 10, requestBudget: { perMinute, burst: 40 } };

/** The cost of schedules and windows in a fleet on a driven clock, where nothing depends on the machine. */
export const schedules: Bench = {
  name: "schedules",
  measures: `what ${fleet.computes} Computes with schedules and windows send, at rest and when all change at once`,
  async run(progress) {
    const [without, scheduled] = [await settledHour(fleet, false), await settledHour(fleet, true)];
    progress(`a settled hour without: ${JSON.stringify(without)}`);
    progress(`a settled hour with schedules and windows: ${JSON.stringify(scheduled)}`);
    const { edits, boundary } = await boundaryBesideEdits(fleet);
    const { open } = await windowAfterEdits(fleet);
    const more = (name: string, of: (counts: Counts) => number) =>
      figure(`${name}, more in a settled hour than without`, "in all", of(scheduled) - of(without), 1);
    return [
      more("requests to the API server", requestsOf),
      more("reads of the service", ({ reads }) => reads),
      more("reconciles", ({ reconciles }) => reconciles),
      ...Object.entries({ edits, boundary, window: open }).flatMap(([name, counts]) => figuresOf(name, counts)),
    ];
  },
};

function figuresOf(name: string, { lastAfterMs, refused, reads, mostAMinute, written, ...counts }: Counts): Figure[] {
  const each = (count: number) => count / fleet.computes;
  return [
    figure(`${name}: writes`, "a Compute", each(counts.writes)),
    figure(`${name}: refused with 423`, "in all", refused),
    figure(`${name}: reads within half an hour`, "in all", reads),
    figure(`${name}: requests at most`, "a minute", mostAMinute, perMinute + 41),
    figure(`${name}: reconciles`, "a Compute", each(counts.reconciles)),
    figure(`${name}: patches`, "a Compute", each(written["PATCH computes"] ?? 0)),
    figure(`${name}: until the last write`, "s", lastAfterMs / 1000),
  ];
}

function requestsOf({ written }: Counts): number {
  return Object.values(written).reduce((sum, count) => sum + count, 0);
}

function figure(name: string, unit: string, value: number, below?: number): Figure {
  return { name, unit, samples: [value], ...(below === undefined ? {} : { below }) };
}
