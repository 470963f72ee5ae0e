import type { EndpointLister } from "../../connection/endpoint-lister.ts";
import type { Compute } from "../../resources/compute.ts";
import type { ServiceClient } from "../../service-client/client.ts";
import type { RequestReservation } from "../../service-client/request-reservation.ts";
import { type Brake, Gate } from "./gate.ts";

/** All through which one pass over one Compute reaches the service. */
export interface ServiceAccess {
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
  const { turn } = watcher;
  const enqueue = () => watcher.enqueue(uid);
  const gate = new Gate({ uid, lane: `${namespace}/${projectID}`, brake, turn, reservation, enqueue });
  return { watcher, reservation, gate, client: watcher.client.within(reservation, withdrawn) };
}
