import { reachProject } from "../../accounts/caller.ts";
import { usageOf } from "../../computes/meter.ts";
import { param } from "../../http/route.ts";
import { planOf } from "../../projects/owner.ts";
import type { Branch } from "../../store/branches.ts";
import type { Project } from "../../store/projects.ts";
import { type Html, html } from "../html.ts";
import { tokenField } from "../layout.ts";
import { type Page, pathOf, type Visit } from "../visit.ts";
import { counted, usageInWords } from "../words.ts";

/** The branches of a project. */
export function projectPage(visit: Visit): Page {
  const { context, caller } = visit;
  const project = reachProject(context.store, caller, param(visit, "project_id"), "member");
  const branches = context.store.branches.list(project.id);
  const computes = Map.groupBy(context.store.endpoints.list(project.id), ({ branchId }) => branchId);
  return {
    title: project.name,
    main: html`<nav aria-label="Breadcrumb" class="trail"><a href="/">Projects</a></nav>
<h1>${project.name}</h1>
<p class="about"><code>${project.id}</code> · ${project.regionId} · Postgres ${project.pgVersion} ·
${planOf(context.store, project.owner)} plan · used ${usageInWords(usageOf(context, project, visit.at))} ·
<a href="${pathOf("app", "projects", project.id, "operations")}">Operations</a></p>
<div class="scroll"><table><caption>${counted(branches.length, "branch", "branches")}</caption>
<thead><tr><th scope="col">Branch</th><th scope="col">Id</th><th scope="col">Computes</th></tr></thead>
<tbody>${branches.map((branch) => row(project, branch, computes.get(branch.id)?.length ?? 0))}</tbody></table></div>
<section><h2>New branch</h2>${createForm(visit, project, branches)}</section>`,
  };
}

function createForm({ token, form }: Visit, { id }: Project, branches: readonly Branch[]): Html {
  const option = ({ id: branch, name, isDefault }: Branch) =>
    html`<option value="${branch}"${isDefault && html` selected`}>${name}</option>`;
  return html`<form class="create" method="post" action="${pathOf("app", "projects", id, "branches")}" autocomplete="off"
aria-label="New branch">${tokenField(token)}
<label>Name <input name="name" maxlength="256" value="${form["name"] ?? ""}"></label>
<label>Parent <select name="parent">${branches.map(option)}</select></label>
<label><input type="checkbox" name="compute" value="true" checked> with a primary compute</label>
<button>Create branch</button></form>`;
}

function row(project: Project, { id, name, isDefault, isProtected }: Branch, computes: number): Html {
  return html`<tr><th scope="row"><a href="${branchPath(project.id, id)}">${name}</a>${isDefault && badge("default")}
${isProtected && badge("protected")}</th><td><code>${id}</code></td><td>${counted(computes, "compute")}</td></tr>
`;
}

function badge(text: string): Html {
  return html` <span class="badge">${text}</span>`;
}

/** Where the computes of a branch are. */
export function branchPath(projectId: string, branchId: string): string {
  return pathOf("app", "projects", projectId, "branches", branchId);
}
