import type { KubeObject } from "../objects/object.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { AdmissionOptions, RequestReservation } from "../service-client/request-reservation.ts";
import type { EndpointLister } from "./endpoint-lister.ts";
import { type Brake, Gate } from "./gate.ts";
import type { Operations } from "./operations.ts";

/** The way of an action to the service. */
export interface ServiceAccess {
  /** Of the object's project. */
  lister: Pick<EndpointLister, "listing" | "observed" | "underWay" | "wrote" | "answered"> & {
    operations: Pick<Operations, "follow">;
  };
  /** Draws from the reservation, and sends no write that is no longer wanted when it could be sent. */
  client: ServiceClient;
  /** The reconcile's share of the request budget; it is asked before anything is begun that needs the service. */
  reservation: Pick<RequestReservation, "tryTake" | "waitMs" | "closedForMs">;
  /** The gate that every write has to pass. */
  gate: Pick<Gate, "pass" | "answered" | "waitsAgain">;
}

/** The same with what observing and waiting need, which `apply` does without. */
export interface ListerAccess extends ServiceAccess {
  lister: EndpointLister;
  reservation: RequestReservation;
  gate: Gate;
}

/** The way of one reconcile of one object to the service. */
export function accessTo(
  lister: EndpointLister,
  { metadata, spec }: Pick<KubeObject, "metadata"> & { spec: { projectID: string } },
  brake: Brake,
  caller: Pick<AdmissionOptions, "changeBlockedWorkers"> & { withdrawn: () => boolean },
): ListerAccess {
  const { uid, namespace = "" } = metadata;
  const reservation = lister.reservation(uid, namespace);
  const { writeLimiter } = lister;
  const enqueue = () => lister.enqueue(uid);
  const gate = new Gate({ uid, flow: `${namespace}/${spec.projectID}`, brake, writeLimiter, reservation, enqueue });
  const client = lister.client.within(reservation, {
    ...caller,
    withdrawn: () => caller.withdrawn() || !gate.sends(),
  });
  return { lister, reservation, gate, client };
}
