import { errorCodes, isAboutBranch, isAboutEndpoint, isTaken } from "../../../api/error.ts";
import type { Failure } from "../../service-client/answer.ts";
import type { Reason } from "./reasons.ts";

/** Meaning of a failed call for the Compute that it was made for. */
export function meaningOf(failure: Failure, doing: string): { reason: Reason; message: string } {
  const said = failure.message;
  switch (failure.kind) {
    case "unauthorized":
      return { reason: "Unauthorized", message: unauthorized(said) };
    case "refusedOnce":
      return { reason: "ServiceUnavailable", message: serviceUnavailable.keyRefusedOnce(said) };
    case "forbidden":
      return { reason: "Forbidden", message: forbidden(doing, said) };
    case "notFound":
      return notFound(said, doing);
    case "superseded":
      return { reason: "ConnectionNotReady", message: connectionNotReady.changed(doing) };
    case "busy":
    case "notReady":
      return { reason: "ProjectBusy", message: projectBusy(doing, said) };
    case "rateLimited":
      return { reason: "RateLimited", message: rateLimited(said) };
    case "unavailable":
      return { reason: "ServiceUnavailable", message: serviceUnavailable.request(said) };
    case "ambiguous":
      return { reason: "ServiceUnavailable", message: serviceUnavailable.ambiguous(doing, said) };
    case "refused":
      if (failure.code === errorCodes.secondPrimary || isTaken(said)) {
        return { reason: "PrimaryExists", message: primaryRefused(doing, said) };
      }
      return { reason: "Rejected", message: rejected(doing, said, failure.status) };
  }
}

function notFound(said: string, doing: string): { reason: Reason; message: string } {
  if (isAboutBranch(said)) return { reason: "BranchNotFound", message: branchNotFound(doing, said) };
  // A list showed it just now: it went since, which only further lists can prove, or the service contradicts itself.
  if (isAboutEndpoint(said)) {
    return { reason: "ServiceUnavailable", message: serviceUnavailable.endpointNotFound(doing, said) };
  }
  return { reason: "ProjectNotFound", message: projectNotFound(doing, said) };
}

// Messages of conditions about requests that the service or the API server refused or did not answer, by their reason.
// `doing` is one of `requests`; `said` is the other side's own text.

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
  delete: (endpointID: string) => `delete endpoint ${endpointID}`,
  show: (endpointID: string) => `show endpoint ${endpointID}`,
};

/** The end of a message about a request that is sent again. The CLI, which asks once, leaves it out. */
export const retriedAtEnd = /(\. R|; r)etried automatically\.$/;

/** The way out for a refused key. The CLI has neither Secret nor connection, and says something else instead. */
export const replaceKey = "Put a valid key into the Secret of the ServiceConnection.";

/** The way out for a project that is not found, which the CLI words in flags. */
export const checkProject =
  "Check spec.projectID, and whether baseURL and API key of the connection reach that project.";

const unauthorized = (said: string): string => `The service refused the API key (${said}). ${replaceKey}`;

const forbidden = (doing: string, said: string): string =>
  `The API key may not ${doing} (${said}). Give it the right, or use a connection with another key; retried automatically.`;

export const connectionNotReady = {
  changed: (doing: string) =>
    `The connection changed before the request to ${doing} was sent. It is sent through the changed connection.`,
  terminating: (ofPool: boolean) =>
    `The ServiceConnection is being deleted, so no endpoint is created through it. Name another in spec.${ofPool ? "template.connectionRef of the ComputePool" : "connectionRef"}.`,
};

const projectNotFound = (doing: string, said: string): string =>
  `The service could not ${doing}: ${said}. ${checkProject}`;

const branchNotFound = (doing: string, said: string): string =>
  `The service could not ${doing}: ${said}. Create the branch, or name another in spec.branchID.`;

const projectBusy = (doing: string, said: string): string =>
  `The service could not ${doing} yet: ${said}. Retried automatically.`;

const rateLimited = (said: string): string =>
  `The service allows no more requests for now (${said}). Retried automatically.`;

export const serviceUnavailable = {
  request: (said: string) => `The service is not available: ${said}. Retried automatically.`,
  keyRefusedOnce: (said: string) =>
    `The service refused the API key once (${said}). It is asked again before the key counts as refused.`,
  ambiguous: (doing: string, said: string) =>
    `The service gave no usable answer to a request to ${doing}: ${said}. The endpoints are listed again before anything else is sent.`,
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

const rejected = (doing: string, said: string, status: number): string =>
  `The service refused to ${doing}: ${said} (HTTP ${status}). Change the spec; retried with backoff, at most hourly.`;

/** Of reason Forbidden or Rejected. */
export const patchRefused = (said: string): string =>
  `The Kubernetes API server refused the operator's patch of this Compute: ${said}. Nothing is sent to the service until the patch is accepted: shorten the annotations, or change the policy that refuses it.`;
