import type { Endpoint } from "../../../api/endpoint.ts";
import type { ServiceAccess } from "../../project/access.ts";
import type { Answer, Failure } from "../../service-client/answer.ts";
import type { Written } from "../../service-client/client.ts";
import type { ExecuteContext } from "./context.ts";

/** With these the service did nothing: what is known of the endpoint stays true. */
const notCarriedOut: readonly (Failure["kind"] | "ok")[] = ["busy", "rateLimited", "unavailable", "superseded"];

/**
 * Takes over the answer to a write: follows its operations, lets the next write go, and remembers from when on lists
 * show it. `shows`: the whole endpoint, if the answer to a create or a patch shows it; it is laid over lists.
 */
export function recordAnswer(
  answer: Answer<Written>,
  { endpointID, shows, isMade }: { endpointID?: string; shows?: Endpoint | undefined; isMade?: boolean },
  { state, clock }: ExecuteContext,
  { lister, gate }: ServiceAccess,
): void {
  if (answer.kind === "ok") lister.operations.follow(answer.value.operations);
  gate.answered(answer);
  if (notCarriedOut.includes(answer.kind)) return;
  if (shows !== undefined) state.answerLaidOver(lister.answered(shows, isMade));
  else state.needListAfter(endpointID === undefined ? clock.monotonic() : lister.wrote(endpointID));
}
