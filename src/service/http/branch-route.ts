import { required } from "../refusal.ts";
import type { Branch } from "../store/branches.ts";
import type { Project } from "../store/projects.ts";
import { type Handled, type Incoming, param, projectRoute, type Request, type Route, type Shape } from "./route.ts";

/** The path of the calls on one branch. */
export const branchPath = "/projects/{project_id}/branches/{branch_id}";

/** Input of a handler for a call on one branch. */
export interface OnBranch extends Pick<Incoming, "context" | "params"> {
  project: Project;
  branch: Branch;
}

/** A route whose path names a branch. Every member of the project may call it. */
export function branchRoute<Body, Query>(
  shape: Shape<Body, Query>,
  handle: (request: Request<Body, Query> & OnBranch) => Handled,
): Route {
  return projectRoute("member", shape, (request) => {
    const branch = required(
      "branch",
      request.context.store.branches.get(request.project.id, param(request, "branch_id")),
    );
    return handle({ ...request, branch });
  });
}
