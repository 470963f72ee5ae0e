import { shownEntry } from "../../../operator/compute/observe/moment.ts";
import type { Observed } from "../../../operator/compute/observe/observation.ts";
import { timestamp } from "../../../operator/objects/conditions-of.ts";
import type { WaitingChange } from "../../../operator/resources/compute.ts";
import { opensAt } from "../../../operator/resources/effective-spec.ts";
import type { ComputeEntry } from "../entries.ts";
import type { CommandScope } from "../scope.ts";

// The service's clock in words, for a person who reads the plan of a Compute with a schedule or windows.

/** The entry of the schedule that is in force. */
export function scheduleOf({ compute, moment }: Observed): Pick<ComputeEntry, "schedule"> {
  return compute.spec.schedule === undefined || moment === undefined ? {} : { schedule: shownEntry(moment) };
}

/** The next window, while none is open. */
export function nextWindow({ moment }: Observed): Pick<ComputeEntry, "nextWindow"> {
  const opens = moment?.closed === undefined ? undefined : opensAt(moment.closed, moment.now);
  return opens === undefined ? {} : { nextWindow: timestamp(opens) };
}

/** The wait for a window, or for other members of the pool, in words. */
export function whatWaits(
  action: { reason?: string; waiting?: readonly WaitingChange[] },
  seen: Observed,
  scope: CommandScope,
): string {
  const { waiting = [] } = action;
  const { siblings } = seen;
  if (siblings === undefined || (action.reason !== "WaitingForTurn" && seen.moment?.closed !== undefined))
    return waitingForWindow(waiting, seen, scope);
  const what = waiting.length === 0 ? "a restart" : waiting.map(({ field, ours }) => `${field} ${ours}`).join(", ");
  const most = `at most ${siblings.maxUnavailable} of the replicas of ComputePool ${siblings.pool} at a time`;
  return `${what} would cut connections, and apply sends that to ${most} (spec.maxUnavailable): the others follow when it is run again.`;
}

/** The wait of changes that would cut connections: the operator sends them later, and `apply` leaves them. */
function waitingForWindow(waiting: readonly WaitingChange[], seen: Observed, { writes }: CommandScope): string {
  const { nextWindow: opens } = nextWindow(seen);
  const when = opens === undefined ? "" : ` (the next: ${opens})`;
  const what = `${waiting.map(({ field, ours }) => `${field} ${ours}`).join(", ")} would cut connections`;
  return writes
    ? `${what}, and apply waits for no window${when}: run it again once one is open.`
    : `${what}, and waits until a window opens${when} or the compute is suspended.`;
}
