import { pathOf } from "../visit.ts";

export function branchPath(projectId: string, branchId: string): string {
  return pathOf("app", "projects", projectId, "branches", branchId);
}

export function computePath(projectId: string, branchId: string, endpointId: string): string {
  return `${branchPath(projectId, branchId)}${pathOf("computes", endpointId)}`;
}
