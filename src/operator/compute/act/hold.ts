import type { Failure } from "../../client/answer.ts";
import type { Compute } from "../../resources/compute.ts";
import { generationOf } from "../observe/view.ts";
import { type Outcome, shown, unchanged } from "../outcome.ts";
import { nextLook, reasons } from "../reasons.ts";
import { identityOf, type Write } from "../step.ts";
import { meaningOf } from "./failures.ts";
import type { Hands } from "./hands.ts";

/**
 * A write that failed: says why, and where it lasts the way out, and remembers not to try the very same again too soon.
 */
export function holdBack(
  write: Write,
  failure: Failure,
  doing: string,
  compute: Compute,
  { memory, clock, watcher }: Hands,
  wayOut?: string,
): Outcome {
  // It was not sent, and is planned anew for the key and the address that there are now.
  if (failure.kind === "superseded") return unchanged(compute, 1);
  const { reason, message: meaning } = meaningOf(failure, doing);
  // What passes by itself needs no way out.
  const message = wayOut === undefined || reasons[reason].look === "backoff" ? meaning : `${meaning} ${wayOut}`;
  const identity = identityOf(write, generationOf(compute));
  const { through } = watcher.client;
  const again = memory.held?.write === identity && memory.held.through === through;
  const failures = again ? (memory.held?.failures ?? 0) + 1 : 0;
  const asked = "retryAfterMs" in failure ? (failure.retryAfterMs ?? 0) : 0;
  const wait = Math.max(asked, nextLook(reasons[reason].look, failures) ?? 1000);
  memory.held = { write: identity, through, reason, message, until: clock.monotonic() + wait, failures };
  return shown(compute, reason, message, { lookInMs: wait });
}
