import { pathOf } from "../visit.ts";

/** The path of a branch's page. */
export function branchPath(projectId: string, branchId: string): string {
  return pathOf("app", "projects", projectId, "branches", branchId);
}

/** The path of a compute's page. */
export function computePath(projectId: string, branchId: string, endpointId: string): string {
  return `${branchPath(projectId, branchId)}${pathOf("computes", endpointId)}`;
}
