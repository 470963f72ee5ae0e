import type { Format } from "../commands/flags.ts";
import {
  type FieldChange,
  hasChanges,
  hasProblems,
  type PlanEntry,
  type PlanStep,
  type Summary,
  summaryOf,
} from "./plan-entry.ts";

/** A plan in the requested format. Colour is for terminals only. */
export function renderPlan(entries: readonly PlanEntry[], format: Format, colour: boolean): string {
  switch (format) {
    case "text":
      return asText(entries, colour);
    case "json":
      return asJSON(entries);
    case "markdown":
      return asMarkdown(entries);
  }
}

const signs: Readonly<Record<PlanStep, string>> = {
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

function asText(entries: readonly PlanEntry[], colour: boolean): string {
  const width = Math.max(0, ...entries.map(({ compute }) => compute.length));
  const lines = entries.map((entry) => {
    const sign = signs[entry.step];
    const line = `${sign} ${entry.compute.padEnd(width)}  ${entry.step.padEnd(7)}  ${detailOf(entry)}`;
    return colour ? `\u001B[${colours[sign] ?? "0"}m${line}\u001B[0m` : line;
  });
  return [...lines, "", `Plan: ${inWords(summaryOf(entries))}.`].join("\n");
}

function asJSON(entries: readonly PlanEntry[]): string {
  const summary = { ...summaryOf(entries), changes: hasChanges(entries), problems: hasProblems(entries) };
  return JSON.stringify({ computes: entries, summary }, null, 2);
}

function asMarkdown(entries: readonly PlanEntry[]): string {
  const title = `### Compute plan: ${inWords(summaryOf(entries))}`;
  const shown = entries.filter(({ step }) => step !== "none");
  if (shown.length === 0) return title;
  const rows = shown.map((entry) => `| ${code(entry.compute)} | ${entry.step} | ${cell(detailOf(entry, code))} |`);
  return [title, "", "| Compute | Step | What |", "| --- | --- | --- |", ...rows].join("\n");
}

function detailOf(entry: PlanEntry, quote: (text: string) => string = (text) => text): string {
  const { step, endpoint, adopts, fields, branch, type, reason, message, project } = entry;
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

/** The summary in a few words, without zeros. */
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

/** Text from the service or a manifest as Markdown code, whatever characters it has. */
function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${fence}${pad}${text}${pad}${fence}`;
}

/** Text for a table cell: one line, with pipes escaped. */
function cell(text: string): string {
  return text
    .replaceAll("|", String.raw`\|`)
    .replaceAll(/[\r\n]+/g, " ")
    .replaceAll("<", "&lt;");
}
