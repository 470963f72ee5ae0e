import type { Operation } from "../../../api/operation.ts";
import type { EndpointLister } from "../../connection/endpoint-lister.ts";
import type { Listing } from "../../connection/listing.ts";
import type { Latest } from "../../connection/operations.ts";
import type { JsonPatchOperation } from "../../kube/json-patch.ts";
import type { Compute, computeKind } from "../../resources/compute.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { ServiceClient } from "../../service-client/client.ts";
import type { RequestReservation } from "../../service-client/request-reservation.ts";
import type { ReconcileState } from "../state.ts";
import { type Brake, Gate } from "./gate.ts";

/** Where the operator's notes on a Compute go: the API server, or an object in memory where there is no cluster. */
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

/** What an action needs that only writes to the Compute. */
export interface PatchContext {
  cluster: ComputePatcher;
  clock: Clock;
  /** Written to by what was sent, so that the next plan knows how old a list may be. */
  memory: ReconcileState;
  signal: AbortSignal;
  uninstalling: CrdDeletion;
}

/** What an action needs of the Compute's project. */
export interface ProjectAccess {
  readonly listing: Pick<Listing, "endpoints"> | undefined;
  /** A write to this endpoint has ended. Answers from when on lists show it, on the monotonic clock. */
  wrote(endpointID: string): number;
  readonly operations: {
    follow(operations: readonly Operation[]): void;
    latest(endpointID: string, client: ServiceClient): Promise<Latest>;
  };
  readonly client: { readonly through: string };
}

/** What an action needs that asks the service for something. */
export interface WriteAccess {
  watcher: ProjectAccess;
  reservation: Pick<RequestReservation, "tryTake" | "waitMs" | "closedForMs">;
  gate: Pick<Gate, "pass">;
  client: ServiceClient;
}

export interface ExecuteContext extends PatchContext, WriteAccess {}

/** How one reconcile of one Compute reaches the service. */
export interface ServiceAccess extends WriteAccess {
  /** Of the Compute's project. */
  watcher: EndpointLister;
  /** What the reconcile may send; it is asked before anything is begun that needs the service. */
  reservation: RequestReservation;
  /** What a write has to pass. */
  gate: Gate;
  /** Draws from the reservation, and sends no write that is no longer wanted when it could be sent. */
  client: ServiceClient;
}

export function accessTo(
  watcher: EndpointLister,
  {
    metadata: { uid, namespace = "" },
    spec: { projectID },
  }: { metadata: Compute["metadata"]; spec: { projectID: string } },
  brake: Brake,
  withdrawn: () => boolean,
): ServiceAccess {
  const reservation = watcher.reservation(uid);
  const { writeLimiter: turn } = watcher;
  const enqueue = () => watcher.enqueue(uid);
  const gate = new Gate({ uid, lane: `${namespace}/${projectID}`, brake, turn, reservation, enqueue });
  return { watcher, reservation, gate, client: watcher.client.within(reservation, withdrawn) };
}
