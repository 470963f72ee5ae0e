import { reachProject } from "../../accounts/caller.ts";
import { param } from "../../http/route.ts";
import type { Branch } from "../../store/branches.ts";
import type { Project } from "../../store/projects.ts";
import { type Html, html } from "../html.ts";
import { type Page, pathOf, type Visit } from "../visit.ts";
import { counted } from "../words.ts";

/** The branches of a project. */
export function projectPage(visit: Visit): Page {
  const { world, caller } = visit;
  const project = reachProject(world.store, caller, param(visit, "project_id"), "member");
  const branches = world.store.branches.list(project.id);
  const computes = Map.groupBy(world.store.endpoints.list(project.id), ({ branchId }) => branchId);
  return {
    title: project.name,
    main: html`<nav aria-label="Breadcrumb" class="trail"><a href="/">Projects</a></nav>
<h1>${project.name}</h1>
<p class="about"><code>${project.id}</code> · ${project.regionId} · Postgres ${project.pgVersion}</p>
<div class="scroll"><table><caption>${counted(branches.length, "branch", "branches")}</caption>
<thead><tr><th scope="col">Branch</th><th scope="col">Id</th><th scope="col">Computes</th></tr></thead>
<tbody>${branches.map((branch) => row(project, branch, computes.get(branch.id)?.length ?? 0))}</tbody></table></div>`,
  };
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
