import { withPart } from "../../../scripts/page-part.ts";
import type { Said } from "./engine.ts";
import type { Step } from "./steps.ts";

export const page = "docs/proof/health.md";

const head = ["| step | what the engine shows | written at the service |", "|---|---|---|"];

/** The page with a row for each step: what the engine said last of each object, and what the operator wrote. */
export function recorded(text: string, steps: readonly Step[], namespace: string): string {
  const table = [...head, ...steps.map(rowOf)]
    .join("\n")
    .replaceAll(namespace, "shop")
    .replaceAll(/\bep-[a-z0-9-]+/g, "ep-…")
    .replaceAll(/"\/[\w/.-]+\/\d+"/g, "a file");
  return withPart(text, "engine", table);
}

function rowOf({ title, results, healths, writes }: Step, index: number): string {
  const objects = results.toSorted((a, b) => idOf(a).localeCompare(idOf(b))).map((said) => shown(said, healths));
  return `| ${index + 1}. ${title} | ${objects.join("; ")} | ${writes.map(code).join(", ") || "nothing"} |`;
}

/** An object with what became of it, and the message where a person is needed. */
function shown(said: Said, healths: readonly Said[]): string {
  const health = healths.findLast((one) => idOf(one) === idOf(said));
  const states = [said.status, ...(health === undefined || health.status === "Missing" ? [] : [health.status])];
  const needsPerson = [said, health].find((one) => one?.status === "SyncFailed" || one?.status === "Degraded");
  return `${idOf(said)}: ${states.join(", ")}${needsPerson === undefined ? "" : ` (${inCell(needsPerson.message)})`}`;
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
