import { annotations } from "../../resources/names.ts";

// Messages of the conditions of a Compute that is being deleted, and of the events of reason Released and Deleted.
// `owner` names another Compute.

/** The way out of every deletion that waits. */
const retain = "set spec.deletionPolicy to Retain to remove the Compute and keep the endpoint";

/** Added to a message that says why the endpoint cannot be deleted yet. */
export const orRetain = `Or ${retain}.`;

/** Without the id the Compute has no endpoint as far as is known: a create may have made one. */
type Known = string | undefined;

export const released = {
  retained: (endpointID: Known) => `${kept(endpointID)}: deletionPolicy is Retain.`,
  adopted: (endpointID: string) =>
    `Endpoint ${endpointID} is kept: the Compute adopted it, and spec.deletionPolicy is not set.`,
  uninstalling: (endpointID: Known) => `${kept(endpointID)}: the CRD itself is being deleted.`,
  observed: (endpointID: Known) =>
    endpointID === undefined
      ? "Nothing is deleted at the service: managementPolicy is Observe."
      : `Endpoint ${endpointID}, which this Compute created, is kept: managementPolicy is Observe.`,
  ownedByOther: (owner: string, endpointID: string) => `Endpoint ${endpointID} is kept: it belongs to ${owner}.`,
  unproved: (endpointID: string) =>
    `Endpoint ${endpointID} is kept: only an annotation links it to this Compute, which did not create it. To have it deleted, adopt it in a Compute with spec.adopt.endpointID and deletionPolicy: Delete, and delete that Compute.`,
  signedByOther: (endpointID: string) =>
    `Endpoint ${endpointID} is kept: it bears the signature of another Compute, as if a second cluster ran the same fleet.`,
  stillOpen: (branchID: string, signature: string) =>
    `A create may still complete. If it does, delete endpoint ${signature} on branch ${branchID} at the service.`,
  neverCreated: "No endpoint was ever created for this Compute.",
  projectGone: (projectID: string) => `Project ${projectID} no longer exists at the service, nor do its endpoints.`,
};

export const deleted = {
  byUs: (endpointID: string) => `Endpoint ${endpointID} was deleted.`,
  alreadyGone: (endpointID: string) => `Endpoint ${endpointID} was already gone.`,
  duplicate: (endpointID: string) => `Deleted endpoint ${endpointID}: one create had taken effect twice.`,
};

export const deleting = {
  accepted: (endpointID: string) =>
    `Endpoint ${endpointID} was deleted. The Compute is removed once the deletion is confirmed.`,
  stillListed: (endpointID: string) =>
    `The service accepted the deletion but still lists endpoint ${endpointID}, so the deletion is repeated with backoff. Ask the service's support what keeps the endpoint, or ${retain}.`,
  notListed: (endpointID: string) =>
    `Deletion waits: the service does not list endpoint ${endpointID}, but returns it by its id. It is deleted once it is listed; or ${retain}.`,
};

export const deletionWaits = {
  paused: (endpointID: Known, until?: string) =>
    `Deletion waits${until === undefined ? "" : ` until ${until}`}: the annotation ${annotations.paused} is set. Remove it to have ${what(endpointID)} deleted, or ${retain}.`,
  blocked: (endpointID: Known, why: string) =>
    `Deletion waits because ${what(endpointID)} cannot be deleted yet: ${why} ${orRetain}`,
  orphaning: (endpointID: Known) =>
    `Deletion waits until Kubernetes has removed the Compute as the owner of its connection Secret (finalizer orphan, from kubectl delete --cascade=orphan). Nothing is sent until then; the Secret stays, and the deletion of ${what(endpointID)} follows.`,
  unreadableName: (endpointID: string) =>
    `Deletion waits: the name of endpoint ${endpointID}, which proves who created it, cannot be read. Set spec.adopt.endpointID to have the endpoint deleted, or ${retain}.`,
  projectSeenElsewhere: (projectID: string, endpointID: Known) =>
    `Deletion waits: project ${projectID} is not found with the current base URL and key, and ${what(endpointID)} was last seen with others. Correct the connection; if the project is gone, set the annotation ${annotations.confirmLoss} to a new value, or ${retain}.`,
  /** `doubt` is one of `lossDoubted`. */
  lossDoubted: (doubt: string) =>
    `Deletion waits: ${doubt}. Check connection, key and project; if the endpoint is gone, set the annotation ${annotations.confirmLoss} to a new value, or ${retain}.`,
};

function kept(endpointID: Known): string {
  return endpointID === undefined ? "Any endpoint of this Compute is kept" : `Endpoint ${endpointID} is kept`;
}

function what(endpointID: Known): string {
  return endpointID === undefined ? "an endpoint that this Compute may have created" : `endpoint ${endpointID}`;
}
