import { errorCodes } from "../../../api/error.ts";
import type { Failure } from "../../service-client/answer.ts";
import {
  branchNotFound,
  connectionNotReady,
  forbidden,
  primaryRefused,
  projectBusy,
  projectNotFound,
  rateLimited,
  rejected,
  serviceUnavailable,
  unauthorized,
} from "./messages/failures.ts";
import type { Reason } from "./reasons.ts";

/** What a failed call means for the Compute that it was made for. */
export function meaningOf(failure: Failure, doing: string): { reason: Reason; message: string } {
  const said = failure.message;
  switch (failure.kind) {
    case "unauthorized":
      return { reason: "Unauthorized", message: unauthorized.refused(said) };
    case "refusedOnce":
      return { reason: "ServiceUnavailable", message: serviceUnavailable.keyRefusedOnce(said) };
    case "forbidden":
      return { reason: "Forbidden", message: forbidden.request(doing, said) };
    case "notFound":
      return notFound(said, doing);
    case "superseded":
      return { reason: "ConnectionNotReady", message: connectionNotReady.changed(doing) };
    case "busy":
    case "notReady":
      return { reason: "ProjectBusy", message: projectBusy.request(doing, said) };
    case "rateLimited":
      return { reason: "RateLimited", message: rateLimited.request(said) };
    case "unavailable":
      return { reason: "ServiceUnavailable", message: serviceUnavailable.request(said) };
    case "ambiguous":
      return { reason: "ServiceUnavailable", message: serviceUnavailable.ambiguous(doing, said) };
    case "refused":
      if (failure.code === errorCodes.secondPrimary || /already exists/i.test(said)) {
        return { reason: "PrimaryExists", message: primaryRefused(doing, said) };
      }
      return { reason: "Rejected", message: rejected.request(doing, said, failure.status) };
  }
}

function notFound(said: string, doing: string): { reason: Reason; message: string } {
  if (/branch/i.test(said)) return { reason: "BranchNotFound", message: branchNotFound.request(doing, said) };
  // A list showed it just now: it went since, which only further lists can prove, or the service contradicts itself.
  if (/endpoint/i.test(said)) {
    return { reason: "ServiceUnavailable", message: serviceUnavailable.endpointNotFound(doing, said) };
  }
  return { reason: "ProjectNotFound", message: projectNotFound.request(doing, said) };
}
