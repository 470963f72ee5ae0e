import { reachProject } from "../../accounts/caller.ts";
import { param } from "../../http/route.ts";
import { refusals, required } from "../../refusal.ts";
import type { Branch } from "../../store/branches.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import type { Project } from "../../store/projects.ts";
import { type Html, html } from "../html.ts";
import type { Visit } from "../visit.ts";
import { branchPath, projectPath } from "./paths.ts";

/** A branch and its project. */
export interface Place {
  project: Project;
  branch: Branch;
}

/** The project of the path, for those who may read it. */
export function projectOf(visit: Visit): Project {
  return reachProject(visit.context.store, visit.caller, param(visit, "project_id"), "viewer");
}

/** The project and the branch of the path, for those who may read them. */
export function placeOf(visit: Visit): Place {
  const project = projectOf(visit);
  const branch = required("branch", visit.context.store.branches.get(project.id, param(visit, "branch_id")));
  return { project, branch };
}

/** A compute on the branch of a place. */
export function computeAt({ context }: Visit, { project, branch }: Place, id: string): StoredEndpoint {
  const compute = context.store.endpoints.get(project.id, id);
  if (compute?.branchId !== branch.id) throw refusals.notFound("compute");
  return compute;
}

/** The way from the projects to a page: to one of a project, or of one of its branches. */
export function trail(project?: Project, branch?: Branch): Html {
  const step = (path: string, name: string) => html` <span aria-hidden="true">›</span>
<a href="${path}">${name}</a>`;
  return html`<nav aria-label="Breadcrumb" class="trail"><a href="/app/projects">Projects</a>${
    project && step(projectPath(project.id), project.name)
  }${project && branch && step(branchPath(project.id, branch.id), branch.name)}</nav>`;
}
