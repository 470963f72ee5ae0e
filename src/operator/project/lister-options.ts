import type { Operation } from "../../api/operation.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { Listing } from "./list-changes.ts";
import type { OperationTimes } from "./operation-times.ts";
import type { RefreshInterval } from "./refresh-interval.ts";
import type { WriteWindow } from "./write-window.ts";

/** The parts and settings that an endpoint lister is made with. */
export interface EndpointListerOptions {
  client: ServiceClient;
  projectID: string;
  clock: Clock;
  log: Logger;
  refreshIntervalMs: () => number;
  /** Learns how late lists are, and knows the interval in force. */
  refreshes?: Pick<RefreshInterval, "due" | "begun" | "leave" | "inForceMs">;
  /** Enqueues these Computes. */
  enqueue: (uids: Iterable<string>) => void;
  /** True if a Compute that is enqueued now gets a worker soon; others are not called. */
  mayStart?: ((uid: string) => boolean) | undefined;
  signal: AbortSignal;
  /** Durations of operations; shared by the projects of a service. */
  times?: OperationTimes;
  /** Limit of the writes under way. */
  window?: WriteWindow;
  /** True if the service is known to show the names of endpoints. */
  showsNames?: () => boolean;
  onListed?: ((projectID: string, listing: Listing) => void) | undefined;
  onOperationEnded?: ((operation: Operation) => void) | undefined;
  /** The last Compute has left. */
  onUnused?: () => void;
}
