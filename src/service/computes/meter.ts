import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Project } from "../store/projects.ts";
import type { World } from "../world.ts";

/** What a project's computes have used. */
export interface Usage {
  /** Time that computes were active, in seconds, each counted by itself. */
  activeSeconds: number;
  /** That time weighed with their compute units: CPU seconds. */
  computeSeconds: number;
}

/**
 * Books what an active compute has used since it was last metered, by its smallest size: the model of a compute never
 * has the load that would make it grow. To be called before it changes size or state, and before it goes.
 */
export function meter(world: World, endpoint: StoredEndpoint, at: number): void {
  const { active, compute } = unbooked(endpoint, at);
  if (active > 0) world.store.projects.addUsage(endpoint.projectId, active, compute);
  endpoint.meteredAt = endpoint.currentState === "active" ? at : undefined;
}

/** Everything that a project's computes have used, those included that have gone. */
export function usageOf(world: World, project: Project, at: number): Usage {
  const running = world.store.endpoints.metered(project.id).map((endpoint) => unbooked(endpoint, at));
  const active = running.reduce((sum, usage) => sum + usage.active, project.activeMs);
  const compute = running.reduce((sum, usage) => sum + usage.compute, project.computeMs);
  return { activeSeconds: Math.floor(active / 1000), computeSeconds: Math.floor(compute / 1000) };
}

/** In milliseconds. */
function unbooked({ meteredAt, minCu }: StoredEndpoint, at: number): { active: number; compute: number } {
  const active = meteredAt === undefined ? 0 : Math.max(0, at - meteredAt);
  return { active, compute: Math.round(active * minCu) };
}
