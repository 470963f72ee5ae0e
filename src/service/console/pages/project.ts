import { planOf } from "../../accounts/owner.ts";
import { type Usage, usageOf, usageOfBranches } from "../../computes/usage.ts";
import type { Branch } from "../../store/branches.ts";
import type { Project } from "../../store/projects.ts";
import type { PageFound } from "../../store/table.ts";
import { copyable } from "../copy.ts";
import { type Html, html } from "../html.ts";
import { counted, endIn, usageInWords, usedInWords } from "../labels.ts";
import type { Page, Visit } from "../visit.ts";
import { keeperOfBranch } from "./branch-facts.ts";
import { listControls, mostChoices, type Part, pageLinks, partOf, perPage } from "./paging.ts";
import { lineForm, option, table } from "./parts.ts";
import { branchPath, operationsPath, projectPath } from "./paths.ts";
import { projectOf, trail } from "./place.ts";
import { usageCharts } from "./usage.ts";

/** The branches of a project. */
export function projectPage(visit: Visit): Page {
  const { context } = visit;
  const project = projectOf(visit);
  const { branches } = context.store;
  const part = partOf(visit);
  const found = branches.find(project.id, part, { page: part.page, size: perPage });
  return {
    title: project.name,
    main: html`${trail()}
<h1>${project.name}</h1>
<p class="about" id="about" data-live>${copyable("id", project.id, "project id")} · ${project.regionId} · Postgres ${project.pgVersion} ·
${planOf(context.store, project.owner)} plan · used ${usageInWords(usageOf(context, project, visit.at))} ·
<a href="${operationsPath(project.id)}">Operations</a></p>
${listControls(visit, { search: "Name, id or object", states, sorts })}
<div id="branches" data-live>${found.total === 0 ? nothingFound(part) : branchTable(visit, project.id, found)}</div>
<div id="pages" data-live>${pageLinks(visit, found, ["branch", "branches"])}</div>
<section id="usage" data-live><h2>Last 24 hours</h2>${usageCharts(visit, project)}
<p class="hint">By the hour, in UTC. Of active computes the most at one time.</p></section>
<section id="new" data-live><h2>New branch</h2>${createForm(visit, project)}</section>`,
  };
}

const states = [
  ["", "any"],
  ["active", "with an active compute"],
  ["idle", "without"],
  ["ends", "with an end"],
  ["busy", "being made or reset"],
] as const;

const sorts = [
  ["", "oldest first"],
  ["newest", "newest first"],
  ["name", "name"],
  ["ends", "ending first"],
  ["used", "most used first"],
] as const;

function nothingFound({ search }: Part): Html {
  return html`<p>No branch ${search === "" ? "is in this state" : html`has <q>${search}</q> in its name, its id or its object`}.</p>`;
}

function branchTable(visit: Visit, projectId: string, { rows, total }: PageFound<Branch>): Html {
  const columns = ["Branch", "Id", "Computes", "Used", "Ends", "Kept by"];
  const usage = usageOfBranches(visit.context, projectId, visit.at);
  const body = rows.map((branch) => row(visit, branch, usage(branch)));
  return table(counted(total, "branch", "branches"), columns, body, "cards dense");
}

function createForm({ context, token, form }: Visit, { id }: Project): Html {
  const parents = context.store.branches.oldest(id, mostChoices);
  const content = html`
<label>Name <input name="name" maxlength="256" value="${form["name"]}"></label>
<label>Parent <select name="parent">${parents.map((one) => option(one.id, one.name, one.isDefault))}</select></label>
<label><input type="checkbox" name="compute" value="true" checked> with a primary compute</label>
<button>Create branch</button>`;
  return lineForm(token, `${projectPath(id)}/branches`, "New branch", content);
}

function row({ context, at }: Visit, branch: Branch, used: Usage): Html {
  const { all, active } = context.store.endpoints.countsOf(branch.id);
  const { id, name, projectId, isDefault, isProtected } = branch;
  return html`<tr id="${id}" data-live><th scope="row"><a href="${branchPath(projectId, id)}">${name}</a>${isDefault && badge("default")}
${isProtected && badge("protected")}</th><td class="minor"><code>${id}</code></td>
<td>${counted(all, "compute")}${active > 0 && html`, <strong>${active} active</strong>`}</td>
<td class="minor">${usedInWords(used.computeSeconds * 1000)}</td>
<td>${branch.expiresAt !== undefined && endIn(branch.expiresAt, at)}</td><td>${keeperOfBranch(branch)}</td></tr>
`;
}

function badge(text: string): Html {
  return html` <span class="badge">${text}</span>`;
}
