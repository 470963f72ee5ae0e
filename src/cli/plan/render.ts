import type { Format } from "../commands/flags.ts";
import {
  type FieldChange,
  type ForecastStep,
  hasChanges,
  hasProblems,
  type PlanEntry,
  type Summary,
  summaryOf,
} from "./plan-entry.ts";

/** A plan in the format that was asked for. Colour for a terminal only. */
export function renderPlan(forecasts: readonly PlanEntry[], format: Format, colour: boolean): string {
  switch (format) {
    case "text":
      return asText(forecasts, colour);
    case "json":
      return asJSON(forecasts);
    case "markdown":
      return asMarkdown(forecasts);
  }
}

const signs: Readonly<Record<ForecastStep, string>> = {
  create: "+",
  patch: "~",
  restart: "~",
  delete: "-",
  none: "=",
  wait: "…",
  refuse: "!",
  error: "!",
};

const colours: Readonly<Record<string, string>> = { "+": "32", "~": "33", "-": "31", "!": "31", "=": "2", "…": "2" };

function asText(forecasts: readonly PlanEntry[], colour: boolean): string {
  const width = Math.max(0, ...forecasts.map(({ compute }) => compute.length));
  const lines = forecasts.map((forecast) => {
    const sign = signs[forecast.step];
    const line = `${sign} ${forecast.compute.padEnd(width)}  ${forecast.step.padEnd(7)}  ${detailOf(forecast)}`;
    return colour ? `\u001B[${colours[sign] ?? "0"}m${line}\u001B[0m` : line;
  });
  return [...lines, "", `Plan: ${inWords(summaryOf(forecasts))}.`].join("\n");
}

function asJSON(forecasts: readonly PlanEntry[]): string {
  const summary = { ...summaryOf(forecasts), changes: hasChanges(forecasts), problems: hasProblems(forecasts) };
  return JSON.stringify({ computes: forecasts, summary }, null, 2);
}

function asMarkdown(forecasts: readonly PlanEntry[]): string {
  const title = `### Compute plan: ${inWords(summaryOf(forecasts))}`;
  const shown = forecasts.filter(({ step }) => step !== "none");
  if (shown.length === 0) return title;
  const rows = shown.map(
    (forecast) => `| ${code(forecast.compute)} | ${forecast.step} | ${cell(detailOf(forecast, code))} |`,
  );
  return [title, "", "| Compute | Step | What |", "| --- | --- | --- |", ...rows].join("\n");
}

function detailOf(forecast: PlanEntry, quote: (text: string) => string = (text) => text): string {
  const { step, endpoint, adopts, fields, branch, type, reason, message, project } = forecast;
  const listed = fields.map((change) => changeOf(change, quote)).join(", ");
  const on = endpoint === undefined ? "" : `${adopts ? "adopts " : ""}${quote(endpoint)}`;
  switch (step) {
    case "create":
      return joined(`${type} on branch ${quote(branch)} of project ${quote(project)}`, listed);
    case "patch":
      return joined(on, listed);
    case "restart":
      return on;
    case "delete":
      return joined(on, message ?? "");
    case "none":
      return joined(on, message ?? "");
    case "wait":
    case "refuse":
    case "error":
      return joined(reason ?? "", joined(message ?? "", listed, " "));
  }
}

function joined(head: string, rest: string, by = ": "): string {
  return head === "" || rest === "" ? head + rest : head + by + rest;
}

function changeOf({ field, theirs, ours }: FieldChange, quote: (text: string) => string): string {
  return theirs === undefined ? `${field} ${quote(ours)}` : `${field} ${quote(theirs)} → ${quote(ours)}`;
}

/** The summary in a few words, zeros left out. */
function inWords(summary: Summary): string {
  const parts = [
    [summary.create, "to create"],
    [summary.patch, "to change"],
    [summary.restart, "to restart"],
    [summary.delete, "to delete"],
    [summary.wait, "waiting"],
    [summary.refuse, "refused"],
    [summary.error, "not known"],
    [summary.none, "unchanged"],
  ] as const;
  const said = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return said.length === 0 ? "nothing" : said.join(", ");
}

/** Text from the service or a manifest as Markdown code, whatever characters it holds. */
function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${fence}${pad}${text}${pad}${fence}`;
}

/** Fit for a cell: on one line, and no pipe that would end it. */
function cell(text: string): string {
  return text
    .replaceAll("|", String.raw`\|`)
    .replaceAll(/[\r\n]+/g, " ")
    .replaceAll("<", "&lt;");
}
