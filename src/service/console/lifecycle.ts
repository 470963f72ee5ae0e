import { param } from "../http/route.ts";
import { ProjectOnly } from "../http/shapes.ts";
import { refusals } from "../refusal.ts";
import { branchPath, computePath, projectPath } from "./pages/paths.ts";
import { branchApiPath, computeApiPath, type Done, pathOf, type Visit } from "./visit.ts";

/** Starts a compute. Like all of these, answers the page to show next. */
export function startCompute(visit: Visit): Done {
  return changed(visit, "start", "is starting");
}

export function suspendCompute(visit: Visit): Done {
  return changed(visit, "suspend", "is suspending: its connections were cut");
}

export function restartCompute(visit: Visit): Done {
  return changed(visit, "restart", "is restarting: its connections were cut");
}

function changed(visit: Visit, verb: string, notice: string): Done {
  visit.act("POST", `${computeApiPath(visit)}/${verb}`);
  return onCompute(visit, notice);
}

export function enableCompute(visit: Visit): Done {
  visit.act("PATCH", computeApiPath(visit), { endpoint: { disabled: false } });
  return onCompute(visit, "is enabled: a connection starts it");
}

export function disableCompute(visit: Visit): Done {
  visit.act("PATCH", computeApiPath(visit), { endpoint: { disabled: true } });
  return onCompute(visit, "is disabled: it takes no connection until it is enabled");
}

export function moveCompute(visit: Visit): Done {
  const { to = "" } = visit.form;
  visit.act("PATCH", computeApiPath(visit), { endpoint: { branch_id: to } });
  return onCompute(visit, "was moved here, and is idle", to);
}

export function deleteCompute(visit: Visit): Done {
  visit.act("DELETE", computeApiPath(visit));
  return onBranch(visit, `${param(visit, "endpoint_id")} is deleted.`);
}

export function createCompute(visit: Visit): Done {
  const { size, type } = visit.form;
  const sizes = { autoscaling_limit_min_cu: Number(size), autoscaling_limit_max_cu: Number(size) };
  const endpoint = { branch_id: param(visit, "branch_id"), type, ...sizes };
  visit.act("POST", pathOf("projects", param(visit, "project_id"), "endpoints"), { endpoint });
  return onBranch(visit, "The compute is created and is starting.");
}

export function createProject(visit: Visit): Done {
  const { form } = visit;
  const name = (form["name"] ?? "").trim();
  const owner = form["owner"] ?? "";
  const project = { ...(name !== "" && { name }), ...(owner !== "" && { org_id: owner }) };
  const answer = ProjectOnly.parse(visit.act("POST", "/projects", { project }).body);
  return { to: projectPath(answer.project.id), notice: "The project is created, with a branch and its compute." };
}

export function createBranch(visit: Visit): Done {
  const { form } = visit;
  const name = (form["name"] ?? "").trim();
  const branch = { ...(name !== "" && { name }), parent_id: form["parent"] };
  const endpoints = form["compute"] === "true" ? [{ type: "read_write" }] : [];
  visit.act("POST", pathOf("projects", param(visit, "project_id"), "branches"), { branch, endpoints });
  return onProject(visit, "The branch is created.");
}

/** Sets the end of a branch, in seconds from now, or takes it away. */
export function endBranch(visit: Visit): Done {
  const { seconds } = visit.form;
  const end = new Date(visit.at + Number(seconds) * 1000);
  if (Number.isNaN(end.getTime())) throw refusals.invalid("the end must be a number of seconds from now");
  visit.act("PATCH", branchApiPath(visit), { branch: { expires_at: seconds === "" ? null : end.toISOString() } });
  return onBranch(visit, seconds === "" ? "The branch has no end any more." : "The branch has a new end.");
}

/** Gives a branch the state of its parent, if that is the one that the page has named. */
export function resetBranch(visit: Visit): Done {
  const [projectId, branchId] = [param(visit, "project_id"), param(visit, "branch_id")];
  const parentId = visit.context.store.branches.get(projectId, branchId)?.parentId;
  if (parentId === undefined) throw refusals.unprocessable("the branch has no parent to be reset to");
  if ((visit.form["parent"] ?? parentId) !== parentId) {
    throw refusals.conflict("the branch has another parent by now: look which, and reset it then");
  }
  visit.act("POST", `${branchApiPath(visit)}/restore`, { source_branch_id: parentId });
  return onBranch(visit, "The branch is reset to its parent.");
}

export function deleteBranch(visit: Visit): Done {
  visit.act("DELETE", branchApiPath(visit));
  return onProject(visit, "The branch is deleted with its computes.");
}

function onProject(visit: Visit, notice: string): Done {
  return { to: projectPath(param(visit, "project_id")), notice };
}

function onBranch(visit: Visit, notice: string): Done {
  return { to: branchPath(param(visit, "project_id"), param(visit, "branch_id")), notice };
}

/** `notice` goes on after the compute's id. */
function onCompute(visit: Visit, notice: string, branchId = param(visit, "branch_id")): Done {
  const id = param(visit, "endpoint_id");
  return { to: computePath(param(visit, "project_id"), branchId, id), notice: `${id} ${notice}.` };
}
