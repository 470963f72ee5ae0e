import { StatementFailed } from "../domain/queries.ts";
import type { Refusal } from "../refusal.ts";
import type { Problem } from "./layout.ts";

/** The API's refusal for a person: what happened, what is allowed, what to do. */
export function problemOf(refusal: Refusal): Problem {
  const { status, message } = refusal;
  return { title: titleOf(status), message: sentence(message), advice: adviceOf(refusal) };
}

function titleOf(status: number): string {
  if (status === 404) return "Not found";
  if (status === 403) return "Not allowed";
  if (status === 423) return "Busy";
  return "Not done";
}

function adviceOf(refusal: Refusal): string | undefined {
  if (refusal instanceof StatementFailed && refusal.writes) {
    return "Nothing was changed, but for what the statement had committed before.";
  }
  const { status } = refusal;
  switch (status) {
    case 404:
      return "It may have been deleted, or it belongs to somebody else.";
    case 403:
      return "Ask an administrator of the organization.";
    case 423:
      return "Something is still in progress in this project. Nothing was changed: try again in a few seconds.";
    default:
      return "Nothing was changed.";
  }
}

/** The page does not show the API's field names, so messages are shown without them. */
function sentence(message: string): string {
  const plain = message
    .replace(/^invalid request body: /, "")
    .replaceAll("endpoint.autoscaling_limit_min_cu:", "The smallest size")
    .replaceAll("endpoint.autoscaling_limit_max_cu:", "The largest size")
    .replaceAll("endpoint.suspend_timeout_seconds:", "Scale to zero")
    .replaceAll("key_name:", "The name")
    .replace(": leave suspend_timeout_seconds at 0", ": leave it on");
  const begun = plain.charAt(0).toUpperCase() + plain.slice(1);
  return /[.!?"]$/.test(begun) ? begun : `${begun}.`;
}
