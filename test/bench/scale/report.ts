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
  ["ADDED to create, p50, ms", ({ toWrite }) => toWrite.p50 * 1000, 0],
  ["ADDED to create, p99, ms", ({ toWrite }) => toWrite.p99 * 1000, 0],
  ["answer to status, p50, ms", ({ toStatus }) => toStatus.p50 * 1000, 0],
  ["answer to status, p99, ms", ({ toStatus }) => toStatus.p99 * 1000, 0],
  ["a settled minute: calls", ({ settled }) => settled.calls, 0],
  ["a settled minute: API requests", ({ settled }) => settled.apiRequests, 0],
  ["a settled minute: CPU, s", ({ settled }) => settled.cpu, 2],
  ["one change in the settled fleet to its write, ms", ({ change }) => change * 1000, 0],
  ["cold start to the write of a change, s", ({ cold }) => cold.seconds, 2],
  ["calls by then", ({ cold }) => cold.calls, 0],
  ["longest task while it came up, ms", ({ longestTask }) => longestTask.creating * 1000, 0],
  ["longest task of the settled fleet, ms", ({ longestTask }) => longestTask.resting * 1000, 0],
  ["longest task of the cold start, ms", ({ longestTask }) => longestTask.starting * 1000, 0],
  ["RSS peak of the cold start, MB", ({ cold }) => cold.peak, 0],
];

/** A table for each setting: a column for each program, and the ratio of the two where there are two. */
export function tables(rounds: readonly Round[]): string {
  const settings = Map.groupBy(rounds, ({ setting }) => JSON.stringify(setting));
  return [...settings.values()].map(tableOf).join("\n\n");
}

function tableOf(rounds: readonly Round[]): string {
  const [first, second] = rounds;
  if (first === undefined) return "";
  const { computes, projects, locks } = first.setting;
  const title = `${computes} in ${projects === 1 ? "one project" : `${projects} projects`}, ${locks ? "a locking service" : "no lock"}`;
  const head = [title, ...rounds.map(({ subject }) => subject), ...(second === undefined ? [] : ["ratio"])];
  const lines = rows.map(([name, figure, digits]) => {
    const figures = rounds.map(figure);
    const [ours = Number.NaN, theirs] = figures;
    const ratio = theirs === undefined ? [] : [shown(ours / theirs, 2)];
    return [name, ...figures.map((value) => shown(value, digits)), ...ratio];
  });
  return [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function shown(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : "–";
}

function perCompute({ apiRequests, setting }: Round, which: RegExp): number {
  return sum(apiRequests, (name) => which.test(name)) / setting.computes;
}

const plotted: readonly (readonly [string, (round: Round) => number])[] = [
  ["CPU until all are Ready, s", ({ cpu }) => cpu],
  ["calls besides the writes", ({ calls }) => sum(calls, (name) => !writes(name))],
  ["RSS settled, MB", ({ rss }) => rss.settled],
  ["a settled minute: calls", ({ settled }) => settled.calls],
];

/** How each figure grows with the fleet, ten projects for each power of ten of Computes. */
export function plotsOf(rounds: readonly Round[]): Plot[] {
  return plotted.map(([title, figure]) => {
    const lines = Map.groupBy(
      rounds.filter(({ setting }) => setting.projects > 1),
      ({ subject, setting }) => `${subject}${setting.locks ? ", locked" : ""}`,
    );
    const series = [...lines].map(([name, own]) => {
      const points = own.map((round) => [round.setting.computes, figure(round)] as const);
      return { name, points: points.toSorted(([a], [b]) => a - b) };
    });
    return { title, series };
  });
}
