import { newEndpoint } from "../computes/create.ts";
import type { ServiceContext } from "../context.ts";
import type { Branch, NewBranch } from "../store/branches.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { NewOperation, StoredOperation } from "../store/operations.ts";
import type { Project } from "../store/projects.ts";
import type { NewBranchBody } from "./requests.ts";

/** A new branch and what was created with it. */
export interface CreatedBranch {
  branch: Branch;
  endpoints: StoredEndpoint[];
  operations: StoredOperation[];
}

/** The computes that are created with a branch. */
export type NewEndpoints = NonNullable<NewBranchBody["endpoints"]>;

/** Stores a branch with its computes, and schedules the operations that create and start them. */
export function insertBranch(
  context: ServiceContext,
  project: Project,
  wanted: Omit<NewBranch, "id" | "projectId" | "name" | "currentState" | "createdAt"> & { name: string | undefined },
  endpoints: NewEndpoints,
  at: number,
): CreatedBranch {
  const id = `br-${context.ids.name()}`;
  context.store.branches.insert({
    ...wanted,
    id,
    projectId: project.id,
    name: wanted.name ?? id,
    currentState: "init",
    createdAt: at,
  });
  const chain = new CreationChain(context, project.id, id, at);
  chain.createBranch(wanted.parentId === undefined ? "create_timeline" : "create_branch");
  const created = endpoints.map((endpoint) => {
    const made = newEndpoint(context, project, { ...endpoint, branch_id: id }, at);
    const started = { ...made, pendingState: "active" } as const;
    context.store.endpoints.insert(started);
    chain.start(started);
    return started;
  });
  const branch = context.store.branches.get(project.id, id);
  if (!branch) throw new Error("the new branch was not stored");
  return { branch, endpoints: created, operations: chain.operations };
}

/** The operations of a creation, each waiting for the previous one. */
class CreationChain {
  readonly operations: StoredOperation[] = [];
  readonly #context: ServiceContext;
  readonly #common: Pick<NewOperation, "projectId" | "branchId" | "createdAt">;

  constructor(context: ServiceContext, projectId: string, branchId: string, at: number) {
    this.#context = context;
    this.#common = { projectId, branchId, createdAt: at };
  }

  createBranch(action: "create_branch" | "create_timeline"): void {
    this.#add(action, "branch-ready", undefined, this.#context.backend.createBranch(action));
  }

  start(endpoint: StoredEndpoint): void {
    this.#add("start_compute", "start", endpoint.id, this.#context.backend.start(endpoint, "first"));
  }

  #add(action: string, effect: NewOperation["effect"], endpointId: string | undefined, durationMs: number): void {
    const first = this.operations.at(0);
    const operation = this.#context.store.operations.insert({
      ...this.#common,
      id: this.#context.ids.uuid(),
      endpointId,
      chain: first?.chain,
      action,
      effect,
      status: first ? "scheduling" : "running",
      durationMs,
      due: first ? undefined : this.#context.backend.endOf(this.#common.createdAt, durationMs),
    });
    this.operations.push(operation);
  }
}
