import { timestamp } from "../clock.ts";
import type { HistoryState } from "../computes/backend.ts";
import { scaled } from "../computes/durations.ts";
import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import type { Branch } from "../store/branches.ts";
import type { Project } from "../store/projects.ts";
import { type HistoryPoint, positionOf } from "./history-point.ts";

/** The history of a branch that servers keep, which count by their own clock: `since` is by the service's. */
export function historyOf({ backend, clock }: ServiceContext, branchId: string): HistoryState | undefined {
  const history = backend.history(branchId);
  return history && { ...history, since: clock.ofWall?.(history.since) ?? history.since };
}

/**
 * Answers a point by the clock of servers. Refuses one outside the history of a project's branches, and of the branch
 * where servers keep it. `field` begins the name of the field. A point after the end of the log fails when the data is
 * made.
 */
export function checkPast(
  context: ServiceContext,
  { project, branch }: { project: Project; branch: Branch },
  field: "parent" | "source",
  point: HistoryPoint | undefined,
  at: number,
): HistoryPoint | undefined {
  if (point === undefined) return undefined;
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
  const history = historyOf(context, branch.id);
  if (history && (point.kind === "time" ? point.at < history.since : positionOf(point.lsn) < history.position)) {
    throw refusals.unprocessable(
      `${name} lies before the history of the branch, which begins at ${timestamp(history.since)}`,
    );
  }
  return point.kind === "time" ? { ...point, at: context.clock.wallOf?.(point.at) ?? point.at } : point;
}
