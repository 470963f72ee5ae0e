import { enqueue, steps } from "../computes/chain.ts";
import { newEndpoint, refuseTooManyComputes } from "../computes/create.ts";
import type { ServiceContext } from "../context.ts";
import { stored } from "../refusal.ts";
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
  const { store, backend } = context;
  if (endpoints.length > 0) refuseTooManyComputes(context, project, endpoints.length);
  const id = `br-${context.ids.name()}`;
  store.branches.insert({
    ...wanted,
    id,
    projectId: project.id,
    name: wanted.name ?? id,
    currentState: "init",
    createdAt: at,
  });
  const operations: StoredOperation[] = [];
  const enqueued = (step: Pick<NewOperation, "action" | "effect" | "endpointId" | "durationMs">) => {
    const of = { projectId: project.id, branchId: id, chain: operations[0]?.chain };
    operations.push(enqueue(context, { ...of, ...step }, at));
  };
  const action = wanted.parentId === undefined ? "create_timeline" : "create_branch";
  enqueued({ action, effect: "branch-ready", endpointId: undefined, durationMs: backend.createBranch(action) });
  const created = endpoints.map((endpoint) => {
    const made = newEndpoint(context, project, { ...endpoint, branch_id: id }, at);
    const started = { ...made, pendingState: "active" } as const;
    store.endpoints.insert(started);
    const durationMs = backend.start(started, "first");
    enqueued({ ...steps.start, endpointId: started.id, durationMs });
    return started;
  });
  return { branch: stored(`branch ${id}`, store.branches.get(project.id, id)), endpoints: created, operations };
}
