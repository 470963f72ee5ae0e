import type { Said } from "./engine.ts";
import type { Step } from "./steps.ts";

export const page = "docs/proof/gitops.md";

const begin = "<!-- Written from a run: do not edit below. -->";

/** The page with what the engine said at each step. */
export function recorded(text: string, steps: readonly Step[], namespace: string): string {
  const [above] = text.split(begin);
  const sections = steps.map((step, index) => `## ${index + 1}. ${step.title}\n\n${described(step)}\n`);
  return `${above}${begin}\n\n${sections.join("\n")}`
    .replaceAll(namespace, "shop")
    .replaceAll(/\bep-[a-z0-9-]+/g, "ep-…")
    .replaceAll(/"\/[\w/.-]+\/\d+"/g, "a file");
}

function described({ results, healths, writes }: Step): string {
  const lines = [
    ...table(
      "sync",
      results,
      [...results].toSorted((a, b) => idOf(a).localeCompare(idOf(b))),
    ),
    ...table("health", healths, healths),
    writes.length === 0
      ? "Nothing is written at the service."
      : `Written at the service: ${writes.map(code).join(", ")}.`,
  ];
  return lines.join("\n");
}

function table(what: string, said: readonly Said[], sorted: readonly Said[]): string[] {
  if (said.length === 0) return [];
  const rows = sorted.map((one) => `| ${idOf(one)} | ${one.status} | ${inCell(one.message)} |`);
  return [`| object | ${what} | message |`, "|---|---|---|", ...rows, ""];
}

function idOf({ kind, name }: Said): string {
  return `${kind} ${name}`;
}

function inCell(message: string): string {
  return message.replaceAll("|", "\\|").replaceAll("\n", " ").trim();
}

function code(text: string): string {
  return `\`${text}\``;
}
