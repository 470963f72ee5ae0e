import { type RetryPace, requeueDelay } from "../conditions/rows.ts";
import type { ServiceAccess } from "../project/service-access.ts";
import { type Failure, steadyMessage } from "../service-client/answer.ts";
import type { FailedWrite } from "./back-off.ts";

/** The earlier failure of this very write, through the same address and key. */
export function earlierFailure<Failed extends FailedWrite>(
  failed: Failed | undefined,
  write: string,
  { fingerprint }: Pick<ServiceAccess["client"], "fingerprint">,
): Failed | undefined {
  return failed?.write === write && failed.fingerprint === fingerprint ? failed : undefined;
}

/** Memory of a write that the API server refused, and how long it is not sent again. */
export function refusedNow<Reason extends string>(
  { write, before }: { write: string; before: FailedWrite | undefined },
  { reason, message, requeue }: { reason: Reason; message: string; requeue: RetryPace },
): { failed: Omit<FailedWrite<Reason>, "until">; waitMs: number } {
  const failures = before?.write === write ? before.failures + 1 : 0;
  return { failed: { write, reason, message, failures }, waitMs: requeueDelay(requeue, failures) ?? 1000 };
}

/** The share of a back-off that is left out at most, and the number of failures from which on it is. */
const jitter = 0.3;
const spreadFrom = 3;

/** The record of a write that has just failed, its next attempt, and whether to show it. `before`: the last record. */
export function failedNow<Reason extends string>(
  { write, uid, before }: { write: string; uid: string; before: FailedWrite | undefined },
  failure: Failure,
  { reason, message: said, requeue }: { reason: Reason; message: string; requeue: RetryPace },
  { client, gate }: Pick<ServiceAccess, "client" | "gate">,
): { failed: Omit<FailedWrite<Reason>, "until">; waitMs: number; isEnqueued: boolean; isNews: boolean } {
  const earlier = earlierFailure(before, write, client);
  const failures = earlier === undefined ? 0 : earlier.failures + 1;
  const failed = {
    write,
    fingerprint: client.fingerprint,
    reason,
    message: steadyMessage(earlier?.message, said),
    failures,
  };
  // Operations often end at once: a project is reported busy if it refuses the same write again.
  if (failure.kind === "busy" && failure.retryAfterMs === undefined && gate.waitsAgain)
    return { failed, waitMs: 0, isEnqueued: true, isNews: earlier !== undefined };
  const asked = "retryAfterMs" in failure ? (failure.retryAfterMs ?? 0) : 0;
  const backoff = requeueDelay(requeue, failures) ?? 1000;
  const isSpread = requeue === "backoff" && failures >= spreadFrom;
  const waitMs = Math.max(asked, isSpread ? jittered(backoff, uid, failures) : backoff);
  return { failed, waitMs, isEnqueued: false, isNews: true };
}

/** Writes that failed together are sent again apart: uids are random, and each failure draws again. */
function jittered(ms: number, uid: string, failures: number): number {
  let drawn = failures;
  for (const character of uid) drawn = (drawn * 31 + character.charCodeAt(0)) % 1009;
  return Math.round(ms * (1 - (jitter * drawn) / 1009));
}
