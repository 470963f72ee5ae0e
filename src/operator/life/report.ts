import { type ConditionRow, standingIn } from "../conditions/rows.ts";
import type { EventInput } from "../kube/event-record.ts";
import { type Condition, clippedMessage, shownReason } from "../objects/conditions-of.ts";
import type { KubeObject } from "../objects/object.ts";
import type { Outcome, ShownCondition } from "./outcome.ts";
import { type PatchedKind, type Patcher, withStatus } from "./patching.ts";

/** Events that say that what was wanted is there: the reason that follows from them is none. */
const conclusive: readonly string[] = ["Created", "Reset"];

/**
 * The event that a change of reason makes. `before`: the reason that the status showed. `table`: the kind's reasons.
 *
 *   before              | after    | event
 *   rest                | rest     | none: the service's own waking and suspending
 *   any                 | progress | Normal, unless the event of the write says it (`isAnnounced`)
 *   progress, or none   | rest     | Normal, unless the event of the write said it
 *   trouble, or other   | rest     | Normal
 *   any                 | trouble  | Warning
 *   any                 | other    | Normal
 *
 * `isQueued`: the write waits for its turn, and its event follows. `events`: of the same reconcile.
 */
export function transition(
  before: string | undefined,
  condition: ShownCondition<string>,
  table: Readonly<Record<string, ConditionRow>>,
  {
    isAnnounced,
    isQueued = false,
    events = [],
  }: { isAnnounced: boolean; isQueued?: boolean; events?: readonly EventInput[] },
): EventInput | undefined {
  if (condition.kind !== "shown") return undefined;
  const { reason, message } = condition;
  if (before === reason) return undefined;
  if (events.some((event) => event.reason === reason || conclusive.includes(event.reason))) return undefined;
  const [from, to] = [standingIn(table, before), standingIn(table, reason)];
  if (from === "rest" && to === "rest") return undefined;
  if (to === "progress" && (isAnnounced || isQueued)) return undefined;
  if (to === "rest" && isAnnounced && (before === undefined || from === "progress")) return undefined;
  return { type: to === "trouble" ? "Warning" : "Normal", reason, message: clippedMessage(message) };
}

/**
 * Writes a status that has changed, in one patch, and then the event of its reason. `isAnnounced`: an event of the
 * write that caused it was reported a moment ago.
 */
export async function report<
  Object extends KubeObject & { status: { conditions?: readonly Condition[] | undefined } },
  Reason extends string,
>(
  kind: PatchedKind<Object>,
  { cluster, event }: { cluster: Patcher<Object>; event: (object: Object, record: EventInput) => void },
  object: Object,
  status: Object["status"],
  { condition, requeue, events }: Outcome<Reason>,
  { reasons, isAnnounced }: { reasons: Readonly<Record<Reason, ConditionRow>>; isAnnounced: boolean },
): Promise<Object> {
  const reported = await withStatus(kind, cluster, status, object);
  const isQueued = requeue.kind === "enqueued";
  const change = transition(shownReason(object), condition, reasons, { isAnnounced, isQueued, events });
  if (change !== undefined) event(reported, change);
  return reported;
}
