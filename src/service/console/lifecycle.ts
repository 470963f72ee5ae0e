import { param } from "../http/route.ts";
import { ProjectOnly } from "../http/shapes.ts";
import { refusals } from "../refusal.ts";
import { branchPath, computePath, projectPath } from "./pages/paths.ts";
import { branchApiPath, computeApiPath, pathOf, type Visit } from "./visit.ts";

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

export function enableCompute(visit: Visit): string {
  return setDisabled(visit, false);
}

export function disableCompute(visit: Visit): string {
  return setDisabled(visit, true);
}

function setDisabled(visit: Visit, disabled: boolean): string {
  const id = param(visit, "endpoint_id");
  visit.act("PATCH", computeApiPath(visit), { endpoint: { disabled } });
  visit.session.notice = disabled
    ? `${id} is disabled: it takes no connection until it is enabled.`
    : `${id} is enabled: a connection starts it.`;
  return computePath(param(visit, "project_id"), param(visit, "branch_id"), id);
}

export function moveCompute(visit: Visit): string {
  const to = visit.form["to"] ?? "";
  visit.act("PATCH", computeApiPath(visit), { endpoint: { branch_id: to } });
  visit.session.notice = `${param(visit, "endpoint_id")} was moved here, and is idle.`;
  return computePath(param(visit, "project_id"), to, param(visit, "endpoint_id"));
}

export function deleteCompute(visit: Visit): string {
  visit.act("DELETE", computeApiPath(visit));
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

export function createProject(visit: Visit): string {
  const { form, session } = visit;
  const name = (form["name"] ?? "").trim();
  const owner = form["owner"] ?? "";
  const project = { ...(name !== "" && { name }), ...(owner !== "" && { org_id: owner }) };
  const answer = ProjectOnly.parse(visit.act("POST", "/projects", { project }).body);
  session.notice = "The project is created, with a branch and its compute.";
  return projectPath(answer.project.id);
}

export function createBranch(visit: Visit): string {
  const { form, session } = visit;
  const name = (form["name"] ?? "").trim();
  const branch = { ...(name !== "" && { name }), parent_id: form["parent"] };
  const endpoints = form["compute"] === "true" ? [{ type: "read_write" }] : [];
  visit.act("POST", pathOf("projects", param(visit, "project_id"), "branches"), { branch, endpoints });
  session.notice = "The branch is created.";
  return projectPath(param(visit, "project_id"));
}

/** Sets the end of a branch, in seconds from now, or takes it away. */
export function endBranch(visit: Visit): string {
  const { seconds } = visit.form;
  const end = new Date(Math.floor(visit.at / 1000) * 1000 + Number(seconds) * 1000);
  if (seconds !== "" && Number.isNaN(end.getTime()))
    throw refusals.invalid("the end must be a number of seconds from now");
  visit.act("PATCH", branchApiPath(visit), { branch: { expires_at: seconds === "" ? null : end.toISOString() } });
  visit.session.notice = seconds === "" ? "The branch has no end any more." : "The branch has a new end.";
  return branchPath(param(visit, "project_id"), param(visit, "branch_id"));
}

/** Gives a branch the state of its parent. */
export function resetBranch(visit: Visit): string {
  const [projectId, branchId] = [param(visit, "project_id"), param(visit, "branch_id")];
  const parentId = visit.context.store.branches.get(projectId, branchId)?.parentId;
  if (parentId === undefined) throw refusals.unprocessable("the branch has no parent to be reset to");
  visit.act("POST", `${branchApiPath(visit)}/restore`, { source_branch_id: parentId });
  visit.session.notice = "The branch is reset to its parent.";
  return branchPath(projectId, branchId);
}

export function deleteBranch(visit: Visit): string {
  visit.act("DELETE", branchApiPath(visit));
  visit.session.notice = "The branch is deleted with its computes.";
  return projectPath(param(visit, "project_id"));
}

function changed(visit: Visit, verb: string, notice: string): string {
  const id = param(visit, "endpoint_id");
  visit.act("POST", `${computeApiPath(visit)}/${verb}`);
  visit.session.notice = `${id} ${notice}.`;
  return computePath(param(visit, "project_id"), param(visit, "branch_id"), id);
}
