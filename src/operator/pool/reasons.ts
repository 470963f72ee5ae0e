import { type ConditionRow, rows } from "../conditions/rows.ts";

/** A pool compares nothing with the service: its members do. */
const unsynced = { synced: "none" } as const;
const stalled = { ...rows.stalled, ...unsynced };

/** The reasons of a ComputePool's conditions, besides one that all its members show. */
export const poolReasons = {
  Ready: { ...rows.settled, ...unsynced },
  Expired: { ...rows.ended, ...unsynced },
  Scaling: { ...rows.inProgress, ...unsynced },
  Conflict: stalled,
  FormerMembers: stalled,
  Rejected: stalled,
} as const satisfies Record<string, ConditionRow>;

/** The row of a reason that all members show. `isStalled`: each needs a person. */
export function rowOfMembers(isStalled: boolean): ConditionRow {
  return isStalled ? stalled : poolReasons.Scaling;
}
