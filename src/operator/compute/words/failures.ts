import { errorCodes, isAboutBranch, isAboutEndpoint, isTaken } from "../../../api/error.ts";
import { meaningOfKind } from "../../conditions/messages.ts";
import type { Failure } from "../../service-client/answer.ts";
import type { Reason } from "./reasons.ts";

// Messages of conditions about requests that the service refused or did not answer, by their reason.
// `doing` is one of `requests`; `said` is the service's own text.

/** Meaning of a failed call for the Compute that it was made for. */
export function meaningOf(failure: Failure, doing: string): { reason: Reason; message: string } {
  const { kind, message: said } = failure;
  if (kind === "notFound" && isAboutBranch(said)) {
    return { reason: "BranchNotFound", message: branchNotFound(doing, said) };
  }
  // A list showed it just now: it went since, which only further lists can prove, or the service contradicts itself.
  if (kind === "notFound" && isAboutEndpoint(said)) {
    return { reason: "ServiceUnavailable", message: serviceUnavailable.endpointNotFound(doing, said) };
  }
  if (kind === "refused" && (failure.code === errorCodes.secondPrimary || isTaken(said))) {
    return { reason: "PrimaryExists", message: primaryRefused(doing, said) };
  }
  return meaningOfKind(failure, doing, "endpoints");
}

/** Purposes of requests: each completes "The service could not …" and "The API key may not …". */
export const requests = {
  listProjects: "list the projects of the key",
  listEndpoints: (projectID: string) => `list the endpoints of project ${projectID}`,
  listBranches: (projectID: string) => `list the branches of project ${projectID}`,
  create: (branchID: string) => `create the endpoint on branch ${branchID}`,
  change: (endpointID: string) => `change endpoint ${endpointID}`,
  /** Names the branch, which may be what is missing. */
  move: (endpointID: string, branchID: string) => `change endpoint ${endpointID} and move it to branch ${branchID}`,
  sign: (endpointID: string) => `write the name of endpoint ${endpointID}`,
  restart: (endpointID: string) => `restart endpoint ${endpointID}`,
  resetPassword: (role: string, branchID: string) => `change the password of role "${role}" on branch ${branchID}`,
  delete: (endpointID: string) => `delete endpoint ${endpointID}`,
  show: (endpointID: string) => `show endpoint ${endpointID}`,
};

/** Added where a password is not changed. */
export const roleMissing = "Correct the role at the service, or in spec.connectionSecret.";

/** Of reason ConnectionNotReady. */
export const terminating = (ofPool: boolean): string =>
  `The ServiceConnection is being deleted, so no endpoint is created through it. Name another in spec.${ofPool ? "template.connectionRef of the ComputePool" : "connectionRef"}.`;

const branchNotFound = (doing: string, said: string): string =>
  `The service could not ${doing}: ${said}. Create the branch, or name another in spec.branchID.`;

export const serviceUnavailable = {
  endpointNotFound: (doing: string, said: string) =>
    `The service could not ${doing}, although it listed the endpoint: ${said}. The endpoints are listed again before anything else is sent.`,
  unreadableFields: (fields: string, endpointID: string) =>
    `The service shows ${fields} in a form that cannot be read, so it is not known whether the endpoint matches the spec. Remove the field from the spec, or ask the service's support about endpoint ${endpointID}.`,
  /** Added to the message of an endpoint that is fine otherwise, and an event. */
  leftOut: (fields: string) =>
    `The service shows ${fields} in a form that cannot be read, so the status leaves it out.`,
};

const primaryRefused = (doing: string, said: string): string =>
  `The service refused to ${doing}, because the branch already has a primary: ${said}. The endpoints are listed again.`;
