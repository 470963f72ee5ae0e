import type { ServiceClient } from "../client/client.ts";
import type { RequestReservation } from "../client/reservation.ts";
import type { ProjectWatcher } from "../connection/project-watcher.ts";
import type { Compute } from "../resources/compute.ts";
import { type Brake, Gate } from "./gate.ts";

/** All through which one pass over one Compute reaches the service. */
export interface Errand {
  /** Of the Compute's project. */
  watcher: ProjectWatcher;
  /** What the reconcile may send; it is asked before anything is begun that needs the service. */
  reservation: RequestReservation;
  /** What a write has to pass. */
  gate: Gate;
  /** Draws from the reservation, and sends no write that is no longer wanted when it could be sent. */
  client: ServiceClient;
}

export function errandTo(
  watcher: ProjectWatcher,
  {
    metadata: { uid, namespace = "" },
    spec: { projectID },
  }: { metadata: Compute["metadata"]; spec: { projectID: string } },
  brake: Brake,
  withdrawn: () => boolean,
): Errand {
  const reservation = watcher.reservation(uid);
  const { turn } = watcher;
  const wake = () => watcher.wake(uid);
  const gate = new Gate({ uid, lane: `${namespace}/${projectID}`, brake, turn, reservation, wake });
  return { watcher, reservation, gate, client: watcher.client.within(reservation, withdrawn) };
}
