import { scaled } from "../computes/durations.ts";
import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import type { Project } from "../store/projects.ts";

/** Refuses an earlier state of a branch where real servers hold the data: they keep only the present one. */
export function refuseHistory({ backend }: ServiceContext, points: Readonly<Record<string, unknown>>): void {
  const [name] = Object.entries(points).find(([, point]) => point !== undefined) ?? [];
  if (name !== undefined && backend.address) throw refusals.noHistory(name);
}

/** Refuses a point in time outside the history of a project's branches. */
export function checkPast(
  context: ServiceContext,
  project: Project,
  { name, time }: { name: string; time: number | undefined },
  at: number,
): void {
  if (time === undefined) return;
  if (time > at) throw refusals.invalid(`${name} must not lie in the future`);
  const retention = project.details.history_retention_seconds;
  if (time < Math.max(project.createdAt, at - scaled(context, retention * 1000))) {
    throw refusals.unprocessable(
      `${name} lies before the history of the project, which is kept for ${retention} seconds (history_retention_seconds)`,
    );
  }
}
