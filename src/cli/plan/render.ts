import { printableLine } from "../../operator/objects/printable-line.ts";
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

/** Text from the service or a manifest, as it is written in a format. */
type Quote = (text: string) => string;
const asWritten: Quote = (text) => text;

/** An object of the plan, as a line of the text or a row of the table. */
interface Row {
  /** Shown before the name; empty for a Compute. */
  kind: string;
  name: string;
  step: PlanStep;
  detail: (quote: Quote) => string;
  warnings: readonly string[];
}

function rowsOf({ entries, branches = [], pruned = [] }: Plan): Row[] {
  return [
    ...branches.map((entry): Row => {
      const { object: name, step, id } = entry;
      const subject = (quote: Quote) => `branch ${quote(entry.name)} of project ${quote(entry.project)}`;
      const detail = (quote: Quote) => detailOf(entry, subject(quote), id, quote);
      return { kind: "Branch ", name, step, detail, warnings: [] };
    }),
    ...entries.map((entry): Row => {
      const { compute: name, step, endpoint, deprecated, missingDatabase } = entry;
      const subject = (quote: Quote) => placeOf(entry, quote);
      const detail = (quote: Quote) => detailOf(entry, subject(quote), endpoint, quote);
      const warnings = [deprecated, missingDatabase].filter((warning) => warning !== undefined);
      return { kind: "", name, step, detail, warnings };
    }),
    ...pruned.map(({ kind, name, step, message }): Row => {
      return { kind: `${kind} `, name, step, detail: () => message, warnings: [] };
    }),
  ];
}

function asText(plan: Plan, colour: boolean): string {
  const { orphans = [], undeclared = [] } = plan;
  const rows = rowsOf(plan);
  const width = Math.max(0, ...rows.map(({ kind, name }) => kind.length + name.length));
  const lines = rows.map(({ kind, name, step, detail }) => {
    const sign = signs[step];
    const done = (step === "none" ? "as is" : step).padEnd(7);
    const line = printableLine(`${sign} ${(kind + name).padEnd(width)}  ${done}  ${detail(asWritten)}`);
    return colour ? `\u001B[${colours[sign] ?? "0"}m${line}\u001B[0m` : line;
  });
  const warned = rows.flatMap(({ name, warnings }) =>
    warnings.map((warning) => `? ${name}  warning  ${printableLine(warning)}`),
  );
  const others = orphans.map((orphan) => `? ${orphan.endpoint}  orphan  ${printableLine(stateOf(orphan, asWritten))}`);
  const left = undeclared.map((count) => `? ${inWordsOf(count)} (--prune shows what deleting does)`);
  return [...lines, ...warned, ...others, ...left, "", `Plan: ${inWords(plan)}.`].join("\n");
}

function asJSON(plan: Plan): string {
  const { entries, branches, orphans, undeclared, pruned } = plan;
  const summary = { ...summaryOf(plan), changes: hasChanges(plan), problems: hasProblems(plan) };
  return JSON.stringify({ branches, computes: entries, orphans, undeclared, pruned, summary }, null, 2);
}

function asMarkdown(plan: Plan): string {
  const { orphans = [], undeclared = [] } = plan;
  const all = rowsOf(plan);
  const changed = all.filter(({ step }) => step !== "none");
  const rows = [
    ...changed.map(({ kind, name, step, detail }) => `| ${kind}${code(name)} | ${step} | ${cell(detail(code))} |`),
    ...all.flatMap(({ name, warnings }) => warnings.map((text) => `| ${code(name)} | warning | ${cell(text)} |`)),
    ...orphans.map((orphan) => `| ${code(orphan.endpoint)} | orphan | ${cell(stateOf(orphan, code))} |`),
  ];
  const table = rows.length === 0 ? [] : ["", "| Compute | Step | What |", "| --- | --- | --- |", ...rows];
  const left = undeclared.map((count) => `- ${cell(inWordsOf(count, code))}`);
  return [`### Compute plan: ${inWords(plan)}`, ...table, ...(left.length === 0 ? [] : ["", ...left])].join("\n");
}

/** `subject`: the new endpoint or branch; `id`: of the one that there is. */
function detailOf(entry: ComputeEntry | BranchEntry, subject: string, id: string | undefined, quote: Quote): string {
  const { keptBy, adopts } = entry;
  const interrupts = "interrupts" in entry ? `; ${entry.interrupts}` : "";
  const schedule = "schedule" in entry && entry.schedule !== undefined ? inForce(entry.schedule) : "";
  const on = id === undefined ? "" : `${adopts ? "adopts " : ""}${quote(id)}`;
  return `${stepOf(entry, subject, on, quote)}${interrupts}${schedule}${keptBy === undefined ? "" : ` (kept by ${keptBy})`}`;
}

function inForce({ active, until }: NonNullable<ComputeEntry["schedule"]>): string {
  const entry = active === "" ? "none of its schedule is in force" : `${active} of its schedule is in force`;
  return `; ${entry}${until === undefined ? "" : ` until ${until}`}`;
}

function stepOf(
  { step, fields, reason = "", message = "" }: ComputeEntry | BranchEntry,
  subject: string,
  on: string,
  quote: Quote,
): string {
  const listed = fields.map((change) => changeOf(change, quote)).join(", ");
  switch (step) {
    case "create":
      return joined(joined(subject, listed), message, ". ");
    case "wait":
    case "refuse":
    case "error":
      return joined(reason, joined(message, listed, " "));
    case "none":
      return joined(on, message);
    case "patch":
    case "restart":
    case "reset":
    case "delete":
    case "release":
      return joined(on, joined(listed, message, ". "));
  }
}

function placeOf({ type, branch, project }: { type: string; branch: string; project: string }, quote: Quote): string {
  return `${type} on branch ${quote(branch)} of project ${quote(project)}`;
}

function stateOf(orphan: Orphan, quote: Quote): string {
  const { fleet, madeBy } = orphan;
  const maker = madeBy === "apply" ? "apply" : "the operator";
  return `${placeOf(orphan, quote)}: made by ${maker} of fleet #${fleet}, and no Compute has it`;
}

function joined(head: string, rest: string, by = ": "): string {
  return head === "" || rest === "" ? head + rest : head + by + rest;
}

function changeOf({ field, theirs, ours }: FieldChange, quote: Quote): string {
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
  return printableLine(text).replaceAll("|", String.raw`\|`).replaceAll("<", "&lt;");
}
