// Messages of events that no condition repeats. Of a Compute that is replaced and deleted only its events remain.

export const created = {
  first: (endpointID: string) => `Created endpoint ${endpointID}.`,
  replacement: (endpointID: string) => `Created endpoint ${endpointID} in place of the one that was lost.`,
  replyLost: (endpointID: string) => `Created endpoint ${endpointID}; the reply to the create was lost.`,
};

export const adopted = (endpointID: string): string => `Took over endpoint ${endpointID}.`;

export const tookOverFormer = (endpointID: string): string =>
  `Took over endpoint ${endpointID}, which a former Compute of this fleet, namespace and name created. If that one still stands in another cluster, it is in conflict now: stop the fleet in one of the clusters.`;

export const moved = (endpointID: string, branchID: string): string =>
  `Moved endpoint ${endpointID} to branch ${branchID}.`;

export const patched = (endpointID: string, fields: readonly string[]): string =>
  `Changed ${fields.join(", ")} of endpoint ${endpointID}.`;

export const restarted = (endpointID: string): string => `Restarted endpoint ${endpointID}.`;

export const driftCorrected = (corrected: readonly { field: string; ours: string; theirs: string }[]): string => {
  const fields = corrected.map(({ field, ours, theirs }) => `${field} (was ${theirs}, now ${ours})`).join(", ");
  return `Corrected ${fields}, changed at the service outside the operator.`;
};

/** A connection Secret that outlives its Compute, as after `kubectl delete --cascade=orphan`. */
export const leftSecret = (name: string) =>
  ({
    type: "Warning",
    reason: "Released",
    message: `Connection Secret ${name} is kept: the Compute is not its owner any more. Delete it if nothing uses it.`,
  }) as const;

/** An object that lost the finalizer by a person's hand, and was deleted at once. */
export const leftBehind = (idOrName: string): string =>
  `The Compute was deleted without the operator's finalizer, so its endpoint ${idOrName} is kept. Delete it at the service if it is not needed.`;
