import type { Compute } from "../../resources/compute.ts";
import type { Failure } from "../../service-client/answer.ts";
import { steadyMessage } from "../../service-client/same-words.ts";
import { generationOf } from "../observe/plan-input.ts";
import { type Outcome, shown, unchanged } from "../outcome.ts";
import { identityOf, type WriteAction } from "../plan/action.ts";
import { reasons, requeueDelay } from "../status/reasons.ts";
import type { ExecuteContext } from "./context.ts";
import { meaningOf } from "./failures.ts";

/**
 * A write that failed: says why, and where it lasts the way out, and remembers not to try the very same again too soon.
 */
export function recordFailedWrite(
  write: WriteAction,
  failure: Failure,
  doing: string,
  compute: Compute,
  { memory, clock, watcher }: ExecuteContext,
  wayOut?: string,
): Outcome {
  // It was not sent, and is planned again for the present key and address.
  if (failure.kind === "superseded") return unchanged(compute, 1);
  const { reason, message: meaning } = meaningOf(failure, doing);
  // A failure that is retried with backoff needs no way out.
  const said = wayOut === undefined || reasons[reason].look === "backoff" ? meaning : `${meaning} ${wayOut}`;
  const identity = identityOf(write, generationOf(compute));
  const { through } = watcher.client;
  const again = memory.failedWrite?.write === identity && memory.failedWrite.through === through;
  const message = steadyMessage(again ? memory.failedWrite?.message : undefined, said);
  const failures = again ? (memory.failedWrite?.failures ?? 0) + 1 : 0;
  const asked = "retryAfterMs" in failure ? (failure.retryAfterMs ?? 0) : 0;
  const wait = Math.max(asked, requeueDelay(reasons[reason].look, failures) ?? 1000);
  memory.failedWrite = { write: identity, through, reason, message, until: clock.monotonic() + wait, failures };
  return shown(compute, reason, message, { requeueAfterMs: wait });
}
