import { quantile } from "../figures.ts";
import { sum } from "./counts.ts";
import type { Plot } from "./plot.ts";
import type { Round } from "./round.ts";

const writes = (name: string) => !name.startsWith("GET") && !/ \d{3}$/.test(name);
const refusals = (name: string) => / \d{3}$/.test(name);

/** One line of a table: a figure of a round, and how many digits it has. */
const rows: readonly (readonly [string, (round: Round) => number, number])[] = [
  ["all Ready after kubectl, s", ({ readyAfter }) => readyAfter, 1],
  ["Ready", ({ ready }) => ready, 0],
  ["writes accepted", ({ calls }) => sum(calls, writes), 0],
  ["writes refused", ({ calls }) => sum(calls, refusals), 0],
  ["lists", ({ calls }) => calls["GET /projects/{p}/endpoints"] ?? 0, 0],
  ["other reads", ({ calls }) => sum(calls, (name) => /^GET (?!\/projects\/\{p\}\/endpoints$)/.test(name)), 0],
  ["patches of Computes per Compute", (round) => perCompute(round, /^PATCH computes/), 1],
  ["events per Compute", (round) => perCompute(round, /^(POST|PATCH) events/), 1],
  ["CPU, s", ({ cpu }) => cpu, 1],
  ["RSS idle, MB", ({ rss }) => rss.idle, 0],
  ["RSS peak, MB", ({ rss }) => rss.peak, 0],
  ["RSS after, MB", ({ rss }) => rss.after, 0],
  ["RSS settled, MB", ({ rss }) => rss.settled, 0],
  ["most charged to its cgroup, whose limit is that of deploy/, MB", ({ rss }) => rss.charged, 0],
  ["ADDED to create, p50, ms", ({ toWrite }) => toWrite.p50 * 1000, 0],
  ["ADDED to create, p99, ms", ({ toWrite }) => toWrite.p99 * 1000, 0],
  ["answer to status, p50, ms", ({ toStatus }) => toStatus.p50 * 1000, 0],
  ["answer to status, p99, ms", ({ toStatus }) => toStatus.p99 * 1000, 0],
  ["a settled minute: calls", ({ settled }) => settled.calls, 0],
  ["a settled minute: API requests", ({ settled }) => settled.apiRequests, 0],
  ["a settled minute: CPU, s", ({ settled }) => settled.cpu, 2],
  ["one change in the settled fleet to its write, ms", ({ change }) => change * 1000, 0],
  ["hand-over: end of the leader to the write of a change, s", ({ handOver }) => handOver, 2],
  ["cold start to the write of a change, s", ({ cold }) => cold.seconds, 2],
  ["calls by then", ({ cold }) => cold.calls, 0],
  ["longest task while it came up, ms", ({ longestTask }) => longestTask.creating * 1000, 0],
  ["longest task of the settled fleet, ms", ({ longestTask }) => longestTask.resting * 1000, 0],
  ["longest task of the cold start, ms", ({ longestTask }) => longestTask.starting * 1000, 0],
  ["RSS peak of the cold start, MB", ({ cold }) => cold.peak, 0],
];

/**
 * A table for each setting: a column for each program, with the median where it ran several times, and the ratio of the
 * operator to the baseline where both ran.
 */
export function tables(rounds: readonly Round[]): string {
  const settings = Map.groupBy(rounds, ({ setting }) => JSON.stringify(setting));
  return [...settings.values()].map(tableOf).join("\n\n");
}

function tableOf(rounds: readonly Round[]): string {
  const [first] = rounds;
  if (first === undefined) return "";
  const runs = Map.groupBy(rounds, ({ subject }) => subject);
  const both = [runs.get("operator"), runs.get("baseline")] as const;
  const named = [...runs].map(([subject, own]) => (own.length > 1 ? `${subject}, median of ${own.length}` : subject));
  const head = [titleOf(first), ...named, ...(both.includes(undefined) ? [] : ["ratio"])];
  const lines = rows.map(([name, figure, digits]) => {
    const [ours, theirs] = both.map((own = []) => median(own, figure));
    const ratio = both.includes(undefined) ? [] : [shown((ours ?? Number.NaN) / (theirs ?? Number.NaN), 2)];
    return [name, ...[...runs.values()].map((own) => shown(median(own, figure), digits)), ...ratio];
  });
  return [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function titleOf({ setting: { computes, projects, locks, limits } }: Round): string {
  const places = projects === 1 ? "one project" : `${projects} projects`;
  const service = `${locks ? "a locking service" : "no lock"}${limits === "public" ? ", public limits" : ""}`;
  return `${computes} in ${places}, ${service}`;
}

/** Of the rounds in which it was measured. */
export function median(rounds: readonly Round[], figure: (round: Round) => number): number {
  return quantile(rounds.map(figure).filter(Number.isFinite), 0.5);
}

function shown(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : "–";
}

function perCompute({ apiRequests, setting }: Round, which: RegExp): number {
  return sum(apiRequests, (name) => which.test(name)) / setting.computes;
}

const plotted: readonly (readonly [string, (round: Round) => number])[] = [
  ["all Ready after kubectl, s", ({ readyAfter }) => readyAfter],
  ["CPU until all are Ready, s", ({ cpu }) => cpu],
  ["calls besides the writes", ({ calls }) => sum(calls, (name) => !writes(name))],
  ["RSS peak, MB", ({ rss }) => rss.peak],
  ["RSS settled, MB", ({ rss }) => rss.settled],
  ["a settled minute: calls", ({ settled }) => settled.calls],
  ["a settled minute: CPU, s", ({ settled }) => settled.cpu],
  ["cold start to a write, s", ({ cold }) => cold.seconds],
];

/** How each figure grows with the fleet, ten projects for each power of ten of Computes. */
export function plotsOf(rounds: readonly Round[]): Plot[] {
  return plotted.map(([title, figure]) => {
    const lines = Map.groupBy(
      rounds.filter(({ setting }) => setting.projects > 1 && setting.limits === "raised"),
      ({ subject, setting }) => `${subject}${setting.locks ? ", locked" : ""}`,
    );
    const series = [...lines].map(([name, own]) => {
      const sizes = Map.groupBy(own, ({ setting }) => setting.computes);
      const points = [...sizes].map(([size, runs]) => [size, median(runs, figure)] as const);
      const measured = points.filter(([, value]) => Number.isFinite(value));
      return { name, points: measured.toSorted(([a], [b]) => a - b) };
    });
    return { title, series };
  });
}
