// The meaning of calls and patches that failed, in reasons and messages: the same for Computes and Branches.

/** A failed call, as far as its meaning depends on it. */
export interface FailedCall {
  kind: keyof typeof meanings;
  /** The service's own text. */
  message: string;
  status?: number;
}

interface Told {
  /** Purpose of the request: completes "The service could not …" and "The API key may not …". */
  doing: string;
  said: string;
  status: number | undefined;
  /** Objects whose lists show what became of it. */
  listed: "endpoints" | "branches";
}

/** The way out for a refused key. The CLI has neither Secret nor connection, and says something else instead. */
export const replaceKey = "Put a valid key into the Secret of the ServiceConnection.";

/** The way out for a project that is not found, which the CLI words in flags. */
export const checkProject =
  "Check spec.projectID, and whether baseURL and API key of the connection reach that project.";

/** The end of a message about a request that is sent again. The CLI leaves it out where it gives up. */
export const retriedAtEnd = /(\. R|; r)etried (automatically|with backoff, at most hourly)\.$/;

const busy = {
  reason: "ProjectBusy",
  message: ({ doing, said }: Told) => `The service could not ${doing} yet: ${said}. Retried automatically.`,
} as const;

const meanings = {
  unauthorized: {
    reason: "Unauthorized",
    message: ({ said }) => `The service refused the API key (${said}). ${replaceKey}`,
  },
  refusedOnce: {
    reason: "ServiceUnavailable",
    message: ({ said }) =>
      `The service refused the API key once (${said}). It is asked again before the key counts as refused.`,
  },
  forbidden: {
    reason: "Forbidden",
    message: ({ doing, said }) =>
      `The API key may not ${doing} (${said}). Give it the right, or use a connection with another key; retried automatically.`,
  },
  notFound: {
    reason: "ProjectNotFound",
    message: ({ doing, said }) => `The service could not ${doing}: ${said}. ${checkProject}`,
  },
  superseded: {
    reason: "ConnectionNotReady",
    message: ({ doing }) =>
      `The connection changed before the request to ${doing} was sent. It is sent through the changed connection.`,
  },
  busy,
  notReady: busy,
  rateLimited: {
    reason: "RateLimited",
    message: ({ said }) => `The service allows no more requests for now (${said}). Retried automatically.`,
  },
  unavailable: {
    reason: "ServiceUnavailable",
    message: ({ said }) => `The service is not available: ${said}. Retried automatically.`,
  },
  ambiguous: {
    reason: "ServiceUnavailable",
    message: ({ doing, said, listed }) =>
      `The service gave no usable answer to a request to ${doing}: ${said}. The ${listed} are listed again before anything else is sent.`,
  },
  refused: {
    reason: "Rejected",
    message: ({ doing, said, status }) =>
      `The service refused to ${doing}: ${said} (HTTP ${status}). Change the spec; retried with backoff, at most hourly.`,
  },
} as const satisfies Record<string, { reason: string; message: (told: Told) => string }>;

/** Meaning of a failed call where the kind of its failure says all. */
export function meaningOfKind({ kind, message: said, status }: FailedCall, doing: string, listed: Told["listed"]) {
  const { reason, message } = meanings[kind];
  return { reason, message: message({ doing, said, status, listed }) };
}

/** Of reason Forbidden or Rejected. */
export const patchRefused = (kind: string, said: string): string =>
  `The Kubernetes API server refused the operator's patch of this ${kind}: ${said}. Nothing is sent to the service until the patch is accepted: shorten the annotations, or change the policy that refuses it.`;

/** Of reason Forbidden or Rejected: the request was one for another object, which `said` names. */
export const requestRefused = (kind: string, said: string): string =>
  `The Kubernetes API server refused a request that this ${kind} needs: ${said}. Nothing is sent to the service until the request is accepted: grant the right, or change the policy that refuses it.`;

/** Of reason Conflict: a write that the last guard stopped. */
export const stoppedByGuard = ({
  why,
  rule,
  target,
  isBeingDeleted,
}: {
  why: string;
  rule: string;
  target: string;
  isBeingDeleted: boolean;
}): string =>
  `A planned write to ${target} was stopped because ${why} (${rule}): nothing is sent, and the write is planned again hourly. This is a defect of the operator, please report it${isBeingDeleted ? "; spec.deletionPolicy: Retain lets the object go" : ""}.`;
