import { errorCodes } from "../../../api/error.ts";
import { isRefusal } from "../../kube/errors.ts";
import type { Compute } from "../../resources/compute.ts";
import type { Failure } from "../../service-client/answer.ts";
import type { Reason } from "../status/reasons.ts";

/** What a failed call means for the Compute that it was made for. */
export function meaningOf(failure: Failure, doing: string): { reason: Reason; message: string } {
  const said = failure.message;
  switch (failure.kind) {
    case "unauthorized":
      return {
        reason: "Unauthorized",
        message: `The service refused the API key (${said}). Put a valid one into the Secret of the ServiceConnection.`,
      };
    case "refusedOnce":
      return {
        reason: "ServiceUnavailable",
        message: `The service refused the API key once (${said}). It is asked again before the key counts as refused.`,
      };
    case "forbidden":
      return {
        reason: "Forbidden",
        message: `The API key may not ${doing} (${said}). Give it the right, or use a connection with another key. It is retried automatically.`,
      };
    case "notFound":
      return notFound(said, doing);
    case "superseded":
      return {
        reason: "ConnectionNotReady",
        message: `The connection changed before the service could be asked to ${doing}. The request goes through the changed connection.`,
      };
    case "busy":
    case "notReady":
      return {
        reason: "ProjectBusy",
        message: `The service could not ${doing} yet: ${said}. It is retried automatically.`,
      };
    case "rateLimited":
      return {
        reason: "RateLimited",
        message: `The service allows no more requests for now (${said}). It is retried automatically.`,
      };
    case "unavailable":
      return {
        reason: "ServiceUnavailable",
        message: `The service is not available: ${said}. It is retried automatically.`,
      };
    case "ambiguous":
      return {
        reason: "ServiceUnavailable",
        message: `Whether the service could ${doing} is not known: ${said}. The endpoints are listed again before anything else is sent.`,
      };
    case "refused":
      if (failure.code === errorCodes.secondPrimary || /already exists/i.test(said)) {
        return {
          reason: "PrimaryExists",
          message: `The service refused to ${doing}, because the branch already has a primary: ${said}. The endpoints are listed again.`,
        };
      }
      return {
        reason: "Rejected",
        message: `The service refused to ${doing}: ${said} (HTTP ${failure.status}). Change the spec; it is also retried with backoff, at most hourly.`,
      };
  }
}

/** What a patch was to do, for the sentence of its failure: a move names the branch, which may be what is missing. */
export function changing(
  { spec }: Pick<Compute, "spec">,
  { endpointID, fields }: { endpointID: string; fields: readonly string[] },
): string {
  return fields.includes("branchID")
    ? `change endpoint ${endpointID} and move it to branch ${spec.branchID}`
    : `change endpoint ${endpointID}`;
}

function notFound(said: string, doing: string): { reason: Reason; message: string } {
  if (/branch/i.test(said)) {
    return {
      reason: "BranchNotFound",
      message: `The service could not ${doing}: ${said}. Create the branch, or name another in spec.branchID.`,
    };
  }
  if (/endpoint/i.test(said)) {
    // A list showed it just now: it went since, which only further lists can prove, or the service contradicts itself.
    return {
      reason: "ServiceUnavailable",
      message: `The service could not ${doing}, although it lists it: ${said}. The endpoints are listed again before anything else is sent.`,
    };
  }
  return {
    reason: "ProjectNotFound",
    message: `The service could not ${doing}: ${said}. Check spec.projectID, and that baseURL and key of the connection lead to that project.`,
  };
}

/**
 * What it means for a Compute that the API server does not take what is to be noted on it, as where its annotations are
 * as large as they may be, or a policy of the cluster refuses it; `undefined` where the pass is just to be repeated.
 */
export function refusalOfNote(error: unknown): { reason: Reason; message: string } | undefined {
  if (!isRefusal(error)) return undefined;
  return {
    reason: error.status === 403 ? "Forbidden" : "Rejected",
    message: `The Kubernetes API server refuses the operator's patch of this Compute: ${error.message}. Nothing is sent to the service until the patch passes: make room in the annotations, or let the patch pass.`,
  };
}
