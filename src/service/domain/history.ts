import { timestamp } from "../clock.ts";
import { scaled } from "../computes/durations.ts";
import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import type { Branch } from "../store/branches.ts";
import type { Project } from "../store/projects.ts";
import { type HistoryPoint, positionOf } from "./history-point.ts";

/**
 * Refuses a point outside the history of a project's branches, and of the branch where servers keep it. `field` begins
 * the name of the field. A point after the end of the log fails when the data is made.
 */
export function checkPast(
  context: ServiceContext,
  { project, branch }: { project: Project; branch: Branch },
  field: "parent" | "source",
  point: HistoryPoint | undefined,
  at: number,
): void {
  if (point === undefined) return;
  const name = `${field}_${point.kind === "lsn" ? "lsn" : "timestamp"}`;
  const retention = project.details.history_retention_seconds;
  if (point.kind === "time") {
    if (point.at > at) throw refusals.invalid(`${name} must not lie in the future`);
    if (point.at < Math.max(project.createdAt, at - scaled(context, retention * 1000))) {
      throw refusals.unprocessable(
        `${name} lies before the history of the project, which is kept for ${retention} seconds (history_retention_seconds)`,
      );
    }
  }
  const history = context.backend.history(branch.id);
  if (!history) return;
  const early = point.kind === "time" ? point.at < history.since : positionOf(point.lsn) < history.position;
  if (!early) return;
  throw refusals.unprocessable(
    `${name} lies before the history of the branch, which begins at ${timestamp(history.since)}`,
  );
}
