import { median } from "./report.ts";
import type { Round } from "./round.ts";

const million = 1_000_000;

/** Projects of so many Computes each, as in the fleets that are measured. */
const perProject = 100;

/** The public service answers so many requests a minute with one key; each project is listed twice a minute. */
const publicPerMinute = 700;
const listsPerMinute = 2;

/** What one shard is to need at most. */
const shardMB = 250;

const figures: readonly (readonly [string, (round: Round) => number])[] = [
  ["RSS settled, MB", ({ rss }) => rss.settled],
  ["RSS peak, MB", ({ rss }) => rss.peak],
  ["a settled minute: calls", ({ settled }) => settled.calls],
  ["a settled minute: CPU, s", ({ settled }) => settled.cpu],
  ["CPU until all are Ready, s", ({ cpu }) => cpu],
  ["cold start to a write, s", ({ cold }) => cold.seconds],
];

/** A figure as a straight line through what was measured at the smallest and at the largest fleet. */
interface Line {
  name: string;
  /** Of an operator without Computes. */
  base: number;
  perThousand: number;
}

/** What a million Computes would take, from how each figure grew between the smallest and the largest fleet. */
export function millionTable(rounds: readonly Round[]): string {
  const own = rounds.filter(
    ({ subject, setting: { projects, locks, limits } }) =>
      subject === "operator" && projects > 1 && !locks && limits === "raised",
  );
  const sizes = [...new Set(own.map(({ setting }) => setting.computes))].toSorted((a, b) => a - b);
  const [least, most] = [sizes[0], sizes.at(-1)];
  if (least === undefined || most === undefined || least === most) return "";
  const at = (size: number) => own.filter(({ setting }) => setting.computes === size);
  const lines = figures.map(([name, figure]): Line => {
    const [low, high] = [median(at(least), figure), median(at(most), figure)];
    const perThousand = ((high - low) / (most - least)) * 1000;
    return { name, base: low - (perThousand * least) / 1000, perThousand };
  });
  const settled = lines[0] ?? { base: 0, perThousand: 0 };
  const perShard = Math.floor((shardMB - settled.base) / settled.perThousand) * 1000;
  const shards = Math.ceil(million / perShard);
  const keys = Math.ceil((million / perProject) * (listsPerMinute / publicPerMinute));
  const rows = lines.map(({ name, base, perThousand }) => {
    const cells = [base, perThousand, base + (perThousand * perShard) / 1000, shards * base + perThousand * 1000];
    return `| ${name} | ${cells.map(shown).join(" | ")} |`;
  });
  return [
    `| from ${least} to ${most} | without Computes | for each 1,000 | a shard of ${perShard.toLocaleString("en-US")} | ${shards} shards together |`,
    "| --- | --- | --- | --- | --- |",
    ...rows,
    "",
    `A shard that settles at ${shardMB} MB holds ${perShard.toLocaleString("en-US")} Computes, so a million take ${shards} of them. ` +
      `At ${perProject} Computes a project, listing each project every 30 s takes ${keys} keys of ${publicPerMinute} requests a minute.`,
  ].join("\n");
}

function shown(value: number): string {
  return value.toFixed(value >= 100 ? 0 : value >= 1 ? 1 : 2);
}
