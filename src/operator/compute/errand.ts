import type { ServiceClient } from "../client/client.ts";
import type { Fare } from "../client/fare.ts";
import type { ProjectWatcher } from "../connection/project-watcher.ts";

/** All through which one pass over one Compute reaches the service. */
export interface Errand {
  /** Of the Compute's project. */
  watcher: ProjectWatcher;
  /** What the pass may send; it is asked before anything is begun that needs the service. */
  fare: Fare;
  /** Draws from the fare, and sends no write that is no longer wanted when it could be sent. */
  client: ServiceClient;
}

export function errandTo(watcher: ProjectWatcher, uid: string, withdrawn: () => boolean): Errand {
  const fare = watcher.fare(uid);
  return { watcher, fare, client: watcher.client.within(fare, withdrawn) };
}
