import type { EndpointLister } from "../../connection/endpoint-lister.ts";
import type { Operations } from "../../connection/operations.ts";
import type { JsonPatchOperation } from "../../kube/json-patch.ts";
import type { Compute, computeKind } from "../../resources/compute.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { ServiceClient } from "../../service-client/client.ts";
import type { RequestReservation } from "../../service-client/request-reservation.ts";
import type { Annotations } from "../observe/annotations.ts";
import type { ReconcileState } from "../state.ts";
import { type Brake, Gate } from "./gate.ts";

/** Where the operator's patches of a Compute go: the API server, or an object in memory if there is no cluster. */
export interface ComputePatcher {
  /** Answers with the whole Compute after the patch. */
  patch(
    kind: typeof computeKind,
    metadata: Compute["metadata"],
    ops: readonly JsonPatchOperation[],
    options?: { subresource?: "status" },
  ): Promise<unknown>;
}

/** Whether a Compute is deleted only because the CRD itself is: then nothing is deleted at the service. */
export interface CrdDeletion {
  /** Asks the API server now. */
  now(compute: Compute): Promise<boolean>;
  /** Asks the API server once for all who wait. */
  lately(compute: Compute): Promise<boolean>;
}

/** All that carrying out an action needs, in the operator and in `apply` alike. */
export interface ExecuteContext {
  /** As the action was planned from. */
  compute: Compute;
  annotations: Annotations;
  cluster: ComputePatcher;
  clock: Clock;
  /** The newest stored version of the Compute; `undefined`: it is not known. */
  stored: () => Compute | undefined;
  /** Records each write, so that the next plan knows how new a list must be. */
  state: ReconcileState;
  signal: AbortSignal;
  uninstalling: CrdDeletion;
  /** `undefined` while the connection is not open. */
  access: ServiceAccess | undefined;
}

/**
 * The version to patch after a request, during which somebody may have written: the newest stored one, or `answered`,
 * what our last patch was answered with, where the store has not moved since the plan.
 */
export function newestOf(answered: Compute, { compute, stored }: Pick<ExecuteContext, "compute" | "stored">): Compute {
  const newest = stored();
  if (newest === undefined || newest.metadata.uid !== answered.metadata.uid) return answered;
  return newest.metadata.resourceVersion === compute.metadata.resourceVersion ? answered : newest;
}

/** How an action reaches the service. */
export interface ServiceAccess {
  /** Of the Compute's project. */
  lister: Pick<EndpointLister, "listing" | "observed" | "underWay" | "wrote" | "answered"> & {
    operations: Pick<Operations, "follow">;
  };
  /** Draws from the reservation, and sends no write that is no longer wanted when it could be sent. */
  client: ServiceClient;
  /** What the reconcile may send; it is asked before anything is begun that needs the service. */
  reservation: Pick<RequestReservation, "tryTake" | "waitMs" | "closedForMs">;
  /** What every write has to pass. */
  gate: Pick<Gate, "pass" | "answered" | "enqueuesRefused">;
}

/** The same with what observing and waiting need, which `apply` does without. */
export interface ListerAccess extends ServiceAccess {
  lister: EndpointLister;
  reservation: RequestReservation;
  gate: Gate;
}

/** How one reconcile of one Compute reaches the service. */
export function accessTo(
  lister: EndpointLister,
  { metadata, spec }: { metadata: Compute["metadata"]; spec: { projectID: string } },
  brake: Brake,
  withdrawn: () => boolean,
): ListerAccess {
  const { uid, namespace = "" } = metadata;
  const reservation = lister.reservation(uid, namespace);
  const { writeLimiter } = lister;
  const enqueue = () => lister.enqueue(uid);
  const gate = new Gate({ uid, flow: `${namespace}/${spec.projectID}`, brake, writeLimiter, reservation, enqueue });
  const client = lister.client.within(reservation, () => withdrawn() || !gate.sends());
  return { lister, reservation, gate, client };
}
