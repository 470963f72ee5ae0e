import { param } from "../http/route.ts";
import { computePath } from "./pages/compute.ts";
import { branchPath } from "./pages/project.ts";
import { pathOf, type Visit } from "./visit.ts";

/** Starts a compute. Like all of these, returns the path to show next. */
export function startCompute(visit: Visit): string {
  return changed(visit, "start", "is starting");
}

export function suspendCompute(visit: Visit): string {
  return changed(visit, "suspend", "is suspending: its connections were cut");
}

export function restartCompute(visit: Visit): string {
  return changed(visit, "restart", "is restarting: its connections were cut");
}

export function moveCompute(visit: Visit): string {
  const to = visit.form["to"] ?? "";
  visit.act("PATCH", apiPath(visit), { endpoint: { branch_id: to } });
  visit.session.notice = `${param(visit, "endpoint_id")} was moved here, and is idle.`;
  return computePath(param(visit, "project_id"), to, param(visit, "endpoint_id"));
}

export function deleteCompute(visit: Visit): string {
  visit.act("DELETE", apiPath(visit));
  visit.session.notice = `${param(visit, "endpoint_id")} is deleted.`;
  return branchPath(param(visit, "project_id"), param(visit, "branch_id"));
}

export function createCompute(visit: Visit): string {
  const { form, session } = visit;
  const branch_id = param(visit, "branch_id");
  const size = Number(form["size"]);
  const endpoint = {
    branch_id,
    type: form["type"],
    autoscaling_limit_min_cu: size,
    autoscaling_limit_max_cu: size,
  };
  visit.act("POST", pathOf("projects", param(visit, "project_id"), "endpoints"), { endpoint });
  session.notice = "The compute is created and is starting.";
  return branchPath(param(visit, "project_id"), branch_id);
}

export function createBranch(visit: Visit): string {
  const { form, session } = visit;
  const name = (form["name"] ?? "").trim();
  const branch = { ...(name !== "" && { name }), parent_id: form["parent"] };
  const endpoints = form["compute"] === "true" ? [{ type: "read_write" }] : [];
  visit.act("POST", pathOf("projects", param(visit, "project_id"), "branches"), { branch, endpoints });
  session.notice = "The branch is created.";
  return pathOf("app", "projects", param(visit, "project_id"));
}

export function deleteBranch(visit: Visit): string {
  visit.act("DELETE", pathOf("projects", param(visit, "project_id"), "branches", param(visit, "branch_id")));
  visit.session.notice = "The branch is deleted with its computes.";
  return pathOf("app", "projects", param(visit, "project_id"));
}

function changed(visit: Visit, verb: string, notice: string): string {
  const id = param(visit, "endpoint_id");
  visit.act("POST", `${apiPath(visit)}/${verb}`);
  visit.session.notice = `${id} ${notice}.`;
  return computePath(param(visit, "project_id"), param(visit, "branch_id"), id);
}

function apiPath(visit: Visit): string {
  return pathOf("projects", param(visit, "project_id"), "endpoints", param(visit, "endpoint_id"));
}
