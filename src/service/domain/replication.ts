import type { Project } from "../store/projects.ts";

/** True if clients may replicate branches logically. Once it is so, it stays so, as at the public service. */
export function replicatesLogically({ details }: Pick<Project, "details">): boolean {
  return details.settings?.["enable_logical_replication"] === true;
}
