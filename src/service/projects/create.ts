import type { BranchCreate } from "../../api/branch.ts";
import { newEndpoint } from "../computes/create.ts";
import { durationOf } from "../computes/durations.ts";
import { meter } from "../computes/meter.ts";
import { refusals } from "../refusal.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { NewOperation, StoredOperation } from "../store/operations.ts";
import type { Branch, Owner, Project } from "../store/projects.ts";
import type { World } from "../world.ts";

/** What a project is made of; its owner is settled before. */
export interface NewProject {
  name: string | undefined;
  regionId: string | undefined;
  pgVersion: number | undefined;
  branchName: string | undefined;
}

export interface CreatedBranch {
  branch: Branch;
  endpoints: StoredEndpoint[];
  operations: StoredOperation[];
}

/** Creates a project with its default branch and the primary compute of that, which is started. */
export function createProject(
  world: World,
  owner: Owner,
  wanted: NewProject,
  at: number,
): CreatedBranch & { project: Project } {
  const id = world.ids.name();
  world.store.projects.insert({
    id,
    name: wanted.name ?? id,
    owner,
    regionId: wanted.regionId ?? "aws-us-east-2",
    pgVersion: wanted.pgVersion ?? 17,
    createdAt: at,
    updatedAt: at,
  });
  const project = stored(world.store.projects.get(id));
  const branch = { name: wanted.branchName ?? "main", parentId: undefined, isDefault: true, isProtected: false };
  return { project, ...insertBranch(world, project, branch, [{ type: "read_write" }], at) };
}

/** Creates a branch of another one, with the computes asked for. */
export function createBranch(world: World, project: Project, wanted: BranchCreate, at: number): CreatedBranch {
  const { branches, operations } = world.store;
  const parentId = wanted.branch?.parent_id ?? branches.default(project.id)?.id;
  const parent = parentId === undefined ? undefined : branches.get(project.id, parentId);
  if (!parent) throw refusals.notFound("parent branch");
  const name = wanted.branch?.name;
  if (name !== undefined && branches.list(project.id).some((branch) => branch.name === name)) {
    throw refusals.conflict(`branch with name ${JSON.stringify(name)} already exists`);
  }
  const endpoints = wanted.endpoints ?? [];
  if (endpoints.filter(({ type }) => type === "read_write").length > 1) throw refusals.secondPrimary();
  if (operations.anyUnfinished(project.id)) throw refusals.projectBusy();
  const branch = { name, parentId: parent.id, isDefault: false, isProtected: wanted.branch?.protected ?? false };
  return insertBranch(world, project, branch, endpoints, at);
}

/** Deletes a branch with its computes. */
export function deleteBranch(world: World, project: Project, branch: Branch, at: number): CreatedBranch {
  const { branches, endpoints, operations } = world.store;
  if (branch.isDefault) throw refusals.unprocessable("the default branch of a project cannot be deleted");
  if (branches.list(project.id).some(({ parentId }) => parentId === branch.id)) {
    throw refusals.unprocessable("a branch that has child branches cannot be deleted");
  }
  if (operations.anyUnfinished(project.id)) throw refusals.projectBusy();
  const gone = endpoints.ofBranch(branch.id);
  for (const endpoint of gone) {
    meter(world, endpoint, at);
    endpoints.delete(endpoint);
  }
  branches.delete(branch.id);
  return { branch, endpoints: gone, operations: [] };
}

function insertBranch(
  world: World,
  project: Project,
  wanted: { name: string | undefined; parentId: string | undefined; isDefault: boolean; isProtected: boolean },
  endpoints: NonNullable<BranchCreate["endpoints"]>,
  at: number,
): CreatedBranch {
  const id = `br-${world.ids.name()}`;
  const { parentId, isDefault, isProtected } = wanted;
  world.store.branches.insert({
    id,
    projectId: project.id,
    parentId,
    name: wanted.name ?? id,
    isDefault,
    isProtected,
    currentState: "init",
    createdAt: at,
  });
  const chain = new CreationChain(world, project.id, id, at);
  chain.add(parentId === undefined ? "create_timeline" : "create_branch", "branch-ready", undefined);
  const created = endpoints.map((endpoint) => {
    const started = { ...newEndpoint(world, project, { ...endpoint, branch_id: id }, at) };
    if (started.disabled) started.currentState = "idle";
    else started.pendingState = "active";
    world.store.endpoints.insert(started);
    if (!started.disabled) chain.add("start_compute", "start", started.id);
    return started;
  });
  const branch = stored(world.store.branches.get(project.id, id));
  return { branch, endpoints: created, operations: chain.operations };
}

/** The operations of a creation, each waiting for the one before. */
class CreationChain {
  readonly operations: StoredOperation[] = [];
  readonly #world: World;
  readonly #common: Pick<NewOperation, "projectId" | "branchId" | "createdAt">;

  constructor(world: World, projectId: string, branchId: string, at: number) {
    this.#world = world;
    this.#common = { projectId, branchId, createdAt: at };
  }

  add(
    action: "create_branch" | "create_timeline" | "start_compute",
    effect: NewOperation["effect"],
    endpointId: string | undefined,
  ): void {
    const first = this.operations.at(0);
    const durationMs = durationOf(this.#world, action);
    const operation = this.#world.store.operations.insert({
      ...this.#common,
      id: this.#world.ids.uuid(),
      endpointId,
      chain: first?.chain,
      action,
      effect,
      status: first ? "scheduling" : "running",
      durationMs,
      due: first ? undefined : this.#common.createdAt + durationMs,
    });
    this.operations.push(operation);
  }
}

function stored<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw new Error("what was just stored is not there");
  return thing;
}
