import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";

/**
 * Refuses a change while the project is locked by any operation in it, as the public service does; with
 * `--no-project-lock` only while an operation of the same compute runs.
 */
export function refuseWhileLocked({ store, options }: ServiceContext, projectId: string, endpointId?: string): void {
  if (options.projectLock) refuseWhileBusy({ store }, projectId);
  else if (endpointId !== undefined) refuseWhileBusy({ store }, projectId, endpointId);
}

/** Refuses a change while any operation of a project, or of one compute, is in progress. */
export function refuseWhileBusy(
  { store }: Pick<ServiceContext, "store">,
  projectId: string,
  endpointId?: string,
): void {
  const { operations } = store;
  const isBusy =
    endpointId === undefined
      ? operations.anyUnfinished(projectId)
      : operations.unfinishedOf(projectId, endpointId).length > 0;
  if (isBusy) throw refusals.projectBusy();
}
