import { fewestMinutes, type Handles, mostHeapGrowth, type Sample, slopePerHour } from "./figures.ts";

/** What went through to the service from the operator. */
export interface Requests {
  reads: number;
  writes: number;
}

/** What a soak came to. */
export interface Result {
  commit: string;
  minutes: number;
  /** Computes in the cluster at the end, and their endpoints at the service. */
  count: { computes: number; endpoints: number };
  samples: readonly Sample[];
  before: Handles;
  after: Handles;
  done: ReadonlyMap<string, number>;
  refused: number;
  requests: Requests;
  /** What the operator counted, by metric and by metric with labels. */
  metrics: ReadonlyMap<string, number>;
  complaints: readonly string[];
}

/** The result as Markdown. */
export function reportOf(result: Result): string {
  const { commit, minutes, count, samples, before, after, done, refused, requests, metrics, complaints } = result;
  const changes = [...done.values()].reduce((sum, times) => sum + times, 0);
  const verdict =
    complaints.length === 0 ? "Nothing to complain of." : complaints.map((line) => `- ${line}`).join("\n");
  const reconciles = (result_: string) =>
    [...metrics].reduce((sum, [name, value]) => sum + (isPass(name, result_) ? value : 0), 0).toLocaleString("en");
  const rows: [string, string][] = [
    ["length", `${minutes} minutes of churn`],
    [
      "changes by users",
      `${changes} (${[...done].map(([what, times]) => `${what} ${times}`).join(", ")}); ${refused} refused, as while something was down`,
    ],
    [
      "requests to the service",
      `${requests.writes.toLocaleString("en")} writes, ${requests.reads.toLocaleString("en")} reads`,
    ],
    [
      "reconciles",
      `${reconciles("ok")} succeeded, ${reconciles("stale")} had an outdated object, ${reconciles("error")} failed; all were retried until they succeeded`,
    ],
    ["at the end", `${count.computes} Computes, all Ready; ${count.endpoints} endpoints at the service, one for each`],
    [
      "heap in use",
      `${rangeOf(samples, "heapMB")}; slope ${signed(slopePerHour(samples, "heapMB"))} MB an hour (${bound(minutes)})`,
    ],
    ["resident memory", `${rangeOf(samples, "rssMB")}; slope ${signed(slopePerHour(samples, "rssMB"))} MB an hour`],
    ["file descriptors at rest", `${before.descriptors} before, ${after.descriptors} after`],
    ["active handles at rest", `${before.handles} before, ${after.handles} after`],
    ["watches at the API server", `${before.watches} before, ${after.watches} after`],
    ["watches opened again", (metrics.get("compute_operator_watch_restarts_total") ?? 0).toLocaleString("en")],
    ["unhandled rejections", "none: the first would have ended the process"],
  ];
  const table = rows.map(([what, figure]) => `| ${what} | ${figure} |`);
  return [`At commit ${commit}:`, "", "| | |", "|---|---|", ...table, "", verdict, ""].join("\n");
}

function isPass(name: string, result: string): boolean {
  return name.startsWith("compute_operator_reconcile_total{") && name.includes(`result="${result}"`);
}

function bound(minutes: number): string {
  return minutes < fewestMinutes ? `not judged below ${fewestMinutes} minutes` : `at most ${mostHeapGrowth} allowed`;
}

function rangeOf(samples: readonly Sample[], figure: "heapMB" | "rssMB"): string {
  const values = samples.map((sample) => sample[figure]);
  return `${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)} MB`;
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;
}
