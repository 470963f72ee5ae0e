import type { Format } from "../commands/flags.ts";
import {
  type BranchEntry,
  type ComputeEntry,
  type FieldChange,
  hasChanges,
  hasProblems,
  type Plan,
  type PlanStep,
  summaryOf,
} from "./entries.ts";
import type { Orphan } from "./orphans.ts";
import { inWordsOf } from "./undeclared.ts";

/** A plan in the requested format. Colour is for terminals only. */
export function renderPlan(plan: Plan, format: Format, colour: boolean): string {
  switch (format) {
    case "text":
      return asText(plan, colour);
    case "json":
      return asJSON(plan);
    case "markdown":
      return asMarkdown(plan);
  }
}

const signs: Readonly<Record<PlanStep, string>> = {
  create: "+",
  patch: "~",
  restart: "~",
  reset: "-",
  delete: "-",
  release: "-",
  none: "=",
  wait: "…",
  refuse: "!",
  error: "!",
};

const colours: Readonly<Record<string, string>> = { "+": "32", "~": "33", "-": "31", "!": "31", "=": "2", "…": "2" };

function asText(plan: Plan, colour: boolean): string {
  const { entries, branches = [], orphans = [], undeclared = [], pruned = [] } = plan;
  const shown = [
    ...branches.map((entry) => ({
      name: `Branch ${entry.object}`,
      step: entry.step,
      detail: branchDetailOf(entry),
    })),
    ...entries.map((entry) => ({ name: entry.compute, step: entry.step, detail: detailOf(entry) })),
    ...pruned.map(({ kind, name, step, message }) => ({ name: `${kind} ${name}`, step, detail: message })),
  ];
  const width = Math.max(0, ...shown.map(({ name }) => name.length));
  const lines = shown.map(({ name, step, detail }) => {
    const sign = signs[step];
    const line = `${sign} ${name.padEnd(width)}  ${step.padEnd(7)}  ${detail}`;
    return colour ? `\u001B[${colours[sign] ?? "0"}m${line}\u001B[0m` : line;
  });
  const warned = entries.flatMap((entry) =>
    warningsOf(entry).map((warning) => `? ${entry.compute}  warning  ${warning}`),
  );
  const others = orphans.map((orphan) => `? ${orphan.endpoint}  orphan  ${stateOf(orphan)}`);
  const left = undeclared.map((count) => `? ${inWordsOf(count)} (--prune shows what deleting does)`);
  return [...lines, ...warned, ...others, ...left, "", `Plan: ${inWords(plan)}.`].join("\n");
}

function asJSON(plan: Plan): string {
  const { entries, branches, orphans, undeclared, pruned } = plan;
  const summary = { ...summaryOf(plan), changes: hasChanges(plan), problems: hasProblems(plan) };
  return JSON.stringify({ branches, computes: entries, orphans, undeclared, pruned, summary }, null, 2);
}

function asMarkdown(plan: Plan): string {
  const { entries, branches = [], orphans = [], undeclared = [], pruned = [] } = plan;
  const title = `### Compute plan: ${inWords(plan)}`;
  const shown = entries.filter(({ step }) => step !== "none");
  const shownBranches = branches.filter(({ step }) => step !== "none");
  const warned = entries.flatMap((entry) =>
    warningsOf(entry).map((warning) => `| ${code(entry.compute)} | warning | ${cell(warning)} |`),
  );
  const left = undeclared.map((count) => `- ${cell(inWordsOf(count, code))}`);
  const after = left.length === 0 ? [] : ["", ...left];
  const changed = pruned.filter(({ step }) => step !== "none");
  if (shown.length + shownBranches.length + warned.length + orphans.length + changed.length === 0)
    return [title, ...after].join("\n");
  const rows = [
    ...shownBranches.map(
      (entry) => `| Branch ${code(entry.object)} | ${entry.step} | ${cell(branchDetailOf(entry, code))} |`,
    ),
    ...shown.map((entry) => `| ${code(entry.compute)} | ${entry.step} | ${cell(detailOf(entry, code))} |`),
    ...changed.map(({ kind, name, step, message }) => `| ${kind} ${code(name)} | ${step} | ${cell(message)} |`),
    ...warned,
    ...orphans.map((orphan) => `| ${code(orphan.endpoint)} | orphan | ${cell(stateOf(orphan, code))} |`),
  ];
  return [title, "", "| Compute | Step | What |", "| --- | --- | --- |", ...rows, ...after].join("\n");
}

function warningsOf({ deletesAdopted, deprecated, missingDatabase }: ComputeEntry): string[] {
  return [deletesAdopted, deprecated, missingDatabase].filter((warning) => warning !== undefined);
}

function branchDetailOf(entry: BranchEntry, quote: (text: string) => string = (text) => text): string {
  const { step, id, adopts, keptBy, fields, name, project, reason = "", message = "" } = entry;
  const listed = fields.map((change) => changeOf(change, quote)).join(", ");
  const on = id === undefined ? "" : `${adopts ? "adopts " : ""}${quote(id)}`;
  const kept = keptBy === undefined ? "" : ` (kept by ${keptBy})`;
  switch (step) {
    case "create":
      return joined(`branch ${quote(name)} of project ${quote(project)}`, listed);
    case "wait":
    case "refuse":
    case "error":
      return joined(reason, message);
    case "patch":
    case "restart":
    case "reset":
    case "delete":
    case "release":
    case "none":
      return `${joined(on, joined(listed, message, " "))}${kept}`;
  }
}

function detailOf(entry: ComputeEntry, quote: (text: string) => string = (text) => text): string {
  const { keptBy, interrupts } = entry;
  return `${stepOf(entry, quote)}${interrupts === undefined ? "" : `; ${interrupts}`}${keptBy === undefined ? "" : ` (kept by ${keptBy})`}`;
}

function stepOf(entry: ComputeEntry, quote: (text: string) => string): string {
  const { step, endpoint, adopts, fields, branch, type, reason, message, project } = entry;
  const listed = fields.map((change) => changeOf(change, quote)).join(", ");
  const on = endpoint === undefined ? "" : `${adopts ? "adopts " : ""}${quote(endpoint)}`;
  switch (step) {
    case "create":
      return joined(
        joined(`${type} on branch ${quote(branch)} of project ${quote(project)}`, listed),
        message ?? "",
        ". ",
      );
    case "patch":
      return joined(on, listed);
    case "restart":
    case "reset":
      return on;
    case "delete":
    case "release":
    case "none":
      return joined(on, message ?? "");
    case "wait":
    case "refuse":
    case "error":
      return joined(reason ?? "", joined(message ?? "", listed, " "));
  }
}

function stateOf(
  { project, branch, type, fleet, madeBy }: Orphan,
  quote: (text: string) => string = (text) => text,
): string {
  const place = `${type} on branch ${quote(branch)} of project ${quote(project)}`;
  return `${place}: made by ${madeBy === "apply" ? "apply" : "the operator"} of fleet #${fleet}, and no Compute has it`;
}

function joined(head: string, rest: string, by = ": "): string {
  return head === "" || rest === "" ? head + rest : head + by + rest;
}

function changeOf({ field, theirs, ours }: FieldChange, quote: (text: string) => string): string {
  return theirs === undefined ? `${field} ${quote(ours)}` : `${field} ${quote(theirs)} → ${quote(ours)}`;
}

/** The summary in a few words, without zeros. */
function inWords(plan: Plan): string {
  const { orphans = [], undeclared = [] } = plan;
  const summary = summaryOf(plan);
  const left = undeclared.reduce((sum, { names }) => sum + names.length, 0);
  const parts = [
    [summary.create, "to create"],
    [summary.patch, "to change"],
    [summary.restart, "to restart"],
    [summary.reset, "to reset"],
    [summary.delete, "to delete"],
    [summary.release, "to let go"],
    [summary.wait, "waiting"],
    [summary.refuse, "refused"],
    [summary.error, "not known"],
    [summary.none, "unchanged"],
    [orphans.length, orphans.length === 1 ? "orphan" : "orphans"],
    [left, "not in these manifests"],
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
