import { pathOf } from "../visit.ts";

export function projectPath(projectId: string): string {
  return pathOf("app", "projects", projectId);
}

export function branchPath(projectId: string, branchId: string): string {
  return `${projectPath(projectId)}${pathOf("branches", branchId)}`;
}

/** The page of a branch's roles and databases. */
export function rolesPath(projectId: string, branchId: string): string {
  return `${branchPath(projectId, branchId)}/roles`;
}

/** The search for the computes of a Kubernetes object or a fleet, by its name or uid. */
export function searchPath(sought: string): string {
  return `/app/computes?${new URLSearchParams({ search: sought }).toString()}`;
}

/** The operations of a project, or those of one of its computes. */
export function operationsPath(projectId: string, endpointId?: string): string {
  const path = `${projectPath(projectId)}/operations`;
  return endpointId === undefined ? path : `${path}?${new URLSearchParams({ search: endpointId }).toString()}`;
}

export function computePath(projectId: string, branchId: string, endpointId: string): string {
  return `${branchPath(projectId, branchId)}${pathOf("computes", endpointId)}`;
}
