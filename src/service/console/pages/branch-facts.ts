import { noteOf, otherValues } from "../../domain/branch-note.ts";
import { historyOf } from "../../domain/history.ts";
import type { Branch } from "../../store/branches.ts";
import { type Html, html } from "../html.ts";
import { moment, momentAhead } from "../labels.ts";
import type { Visit } from "../visit.ts";
import { keeperInWords } from "./management.ts";
import { branchPath } from "./paths.ts";

/** Origin of a branch, its maker and its end. */
export function branchFacts(visit: Visit, branch: Branch): Html {
  const { context, at } = visit;
  const { details } = branch;
  const history = historyOf(context, branch.id);
  return html`<dl class="facts">
${branch.currentState !== "ready" && fact("Status", html`${branch.currentState === "init" ? "being made" : branch.currentState}`)}
${fact("Parent", parentOf(visit, branch))}
${fact("Made", moment(branch.createdAt, at))}
${fact("Ends", branch.expiresAt === undefined ? html`never` : momentAhead(branch.expiresAt, at))}
${details.last_reset_at !== undefined && fact("Last reset", moment(Date.parse(details.last_reset_at), at))}
${history && fact("History", html`since ${moment(history.since, at)}, ${Math.ceil(history.bytes / 1024 ** 2)} MiB`)}
${otherValues(details).map(([name, value]) => fact(name, html`${value}`))}
</dl>`;
}

/** A warning on a branch that an operator made. */
export function branchWarning(branch: Branch): Html | undefined {
  const keeper = keeperOfBranch(branch);
  return (
    keeper &&
    html`<p class="warning" role="note"><strong>Kept by ${keeper}.</strong>
Change or delete its Branch manifest instead: a branch that is deleted here counts as lost, and is not made again.</p>`
  );
}

/** The Kubernetes object that keeps a branch; `undefined` where none is noted. */
export function keeperOfBranch({ details }: Branch): Html | undefined {
  const note = noteOf(details);
  return note && keeperInWords({ kind: "Branch", ...note });
}

function parentOf({ context }: Visit, { projectId, parentId, details }: Branch): Html {
  if (parentId === undefined) return details.init_source === "schema-only" ? html`none, schema only` : html`none`;
  const parent = context.store.branches.get(projectId, parentId);
  if (!parent) return html`<code>${parentId}</code>`;
  const { parent_lsn: lsn, parent_timestamp: time } = details;
  return html`<a href="${branchPath(projectId, parent.id)}">${parent.name}</a>${
    time !== undefined && html` as of ${time}`
  }${lsn !== undefined && html` at ${lsn}`}`;
}

function fact(name: string, value: Html): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}
