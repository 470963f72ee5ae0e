import { patchRefused, requestRefused } from "../conditions/messages.ts";
import { type ClusterError, isAbout, isNotFound, isRefusal, isStale } from "../kube/errors.ts";
import type { KubeObject, ResourceKind } from "../objects/object.ts";

// Meaning of an error that a reconcile ends with, by the request that the API server answered:
//
//   answer                                 | about the object itself | about another one
//   404, a conflict, a failed test         | outdated                | thrown again
//   403, 422, a webhook not to be called   | refused                 | refused, and the condition names the request
//   anything else, or no answer            | thrown again            | thrown again
//
// An error that is thrown again has the queue retry the reconcile with backoff.

/** A request that the API server refuses until somebody changes something, as a condition shows it. */
export interface Refusal {
  reason: "Forbidden" | "Rejected";
  message: string;
  /** As the API server answered. */
  error: ClusterError;
  /** The request was one for the object itself. */
  isOwn: boolean;
}

/** The consequences of an error; one that is left out has the error thrown again. */
export interface Consequences<T> {
  /** The object is gone, replaced or has a newer version, which decides. */
  outdated?: () => T;
  refused?: (refusal: Refusal) => T;
}

/** The consequence of an error for the object; throws it again where it has none. */
export function onError<T>(
  error: unknown,
  kind: Pick<ResourceKind, "kind">,
  { metadata }: { metadata: Pick<KubeObject["metadata"], "namespace" | "name"> },
  { outdated, refused }: Consequences<T>,
): T {
  const isOwn = isAbout(error, kind, metadata);
  if (outdated !== undefined && isOwn && (isNotFound(error) || isStale(error))) return outdated();
  if (refused === undefined || !isRefusal(error)) throw error;
  const reason = error.status === 403 ? "Forbidden" : "Rejected";
  const message = (isOwn ? patchRefused : requestRefused)(kind.kind, error.message);
  return refused({ reason, message, error, isOwn });
}
