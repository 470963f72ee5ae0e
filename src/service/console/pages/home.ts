import { visibleOwners } from "../../accounts/caller.ts";
import { dayMs, dayOf, weekOf } from "../../computes/meter.ts";
import { computeSecondsSince } from "../../computes/usage.ts";
import type { Branch } from "../../store/branches.ts";
import type { StoredOperation } from "../../store/operations.ts";
import type { Owner } from "../../store/projects.ts";
import { type Html, html } from "../html.ts";
import { counted, moment, momentAhead, usedInWords } from "../labels.ts";
import type { Page, Visit } from "../visit.ts";
import { keeperOfBranch } from "./branch-facts.ts";
import { computeTable, findComputes } from "./computes.ts";
import { computeLink } from "./operations.ts";
import { table } from "./parts.ts";
import { branchPath, operationsPath, projectPath } from "./paths.ts";
import { projectForm } from "./projects.ts";

/** Rows of each list. */
const most = 10;

/** The account's projects at a glance: what is active, what was used, what ends soon and what failed. */
export function homePage(visit: Visit): Page {
  const { context, caller } = visit;
  const owners = visibleOwners(context.store, caller);
  const isEmpty = !context.store.projects.any(owners);
  return { title: "Home", main: html`<h1>Home</h1>${isEmpty ? firstSteps(visit) : overview(visit, owners)}` };
}

function firstSteps(visit: Visit): Html {
  return html`<p>There are no projects yet. Make the first one: it gets a branch, a database and a compute to connect to.</p>
${projectForm(visit)}
<p class="hint">An operator or a program needs a key: <a href="/app/keys">make one</a>.</p>`;
}

function overview(visit: Visit, owners: readonly Owner[]): Html {
  const { context, at } = visit;
  const { store } = context;
  const all = { search: "", state: "", sort: "used", page: 1 };
  const active = findComputes(visit, { ...all, state: "active", sort: "active" }, { size: most });
  const costly = findComputes(visit, all, { size: 5 }).rows.filter(({ usedMs }) => usedMs > 0);
  const used = computeSecondsSince(context, owners, [dayOf(at), weekOf(at)], at);
  const inWords = (index: number) => usedInWords((used[index] ?? 0) * 1000);
  const ending = store.branches.expiring(owners, at + 7 * dayMs, most);
  const failed = store.operations.failed(owners, at - 7 * dayMs, most);
  return html`<dl class="facts" id="figures" data-live>
<div><dt>Active now</dt><dd><a href="/app/computes?state=active">${counted(active.total, "compute")}</a></dd></div>
<div><dt>Used today</dt><dd>${inWords(0)}</dd></div><div><dt>Used this week</dt><dd>${inWords(1)}</dd></div></dl>
<section id="active" data-live><h2>Active now</h2>${
    active.total === 0
      ? html`<p>Nothing is active. A connection wakes a compute: <a href="/app/computes">choose one</a> to see how to connect.</p>`
      : computeTable(visit, active.rows)
  }${active.total > most && html`<p><a href="/app/computes?state=active">All ${active.total}</a></p>`}</section>
<section id="ending" data-live><h2>Ends within seven days</h2>${
    ending.length === 0
      ? html`<p>No branch ends soon. The page of a branch gives it an end: <a href="/app/projects">choose a project</a>.</p>`
      : endingTable(visit, ending)
  }</section>
<section id="failed" data-live><h2>Failed in the last seven days</h2>${
    failed.length === 0 ? html`<p>No operation failed.</p>` : failedTable(visit, failed)
  }</section>
${
  costly.length > 0 &&
  html`<section id="used" data-live><h2>Most used this week</h2>${computeTable(visit, costly, "used-")}
<p><a href="/app/computes?sort=used">All computes by their use</a></p></section>`
}
<p class="hint">Hours of today and of this week, since Monday, count in UTC.</p>`;
}

function endingTable({ context, at }: Visit, branches: readonly Branch[]): Html {
  const row = (branch: Branch) =>
    html`<tr><th scope="row"><a href="${branchPath(branch.projectId, branch.id)}">${branch.name}</a></th>
<td>${projectLink(context.store.projects.get(branch.projectId))}</td>
<td>${branch.expiresAt !== undefined && momentAhead(branch.expiresAt, at)}</td><td>${keeperOfBranch(branch)}</td></tr>
`;
  return table("Branches that end soon", ["Branch", "Project", "Ends", "Kept by"], branches.map(row));
}

function failedTable(visit: Visit, operations: readonly StoredOperation[]): Html {
  const { context, at } = visit;
  const row = ({ action, projectId, endpointId, error, updatedAt }: StoredOperation) =>
    html`<tr><th scope="row"><a href="${operationsPath(projectId)}?state=failed">${action.replaceAll("_", " ")}</a></th>
<td>${projectLink(context.store.projects.get(projectId))}</td>
<td>${endpointId !== undefined && computeLink(visit, projectId, endpointId)}</td>
<td>${error}</td><td>${moment(updatedAt, at)}</td></tr>
`;
  return table("Operations that failed", ["Action", "Project", "Compute", "Why", "When"], operations.map(row));
}

function projectLink(project: { id: string; name: string } | undefined): Html | undefined {
  return project && html`<a href="${projectPath(project.id)}">${project.name}</a>`;
}
