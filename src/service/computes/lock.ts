import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";

/**
 * Refuses a change while the project is locked by any operation in it, as the public service does; with
 * `--no-project-lock` only while an operation of the same compute runs.
 */
export function refuseWhileLocked({ store, options }: ServiceContext, projectId: string, endpointId?: string): void {
  const { operations } = store;
  const locked = options.projectLock
    ? operations.anyUnfinished(projectId)
    : endpointId !== undefined && operations.unfinishedOf(projectId, endpointId).length > 0;
  if (locked) throw refusals.projectBusy();
}
