import type { StoredEndpoint } from "../../src/service/store/endpoints.ts";
import type { KubeObject } from "../simulation/api-server/objects.ts";
import type { CountedRequest } from "../support/counting-proxy.ts";
import type { Entry } from "./endpoint-history.ts";
import type { Fleet } from "./fleet.ts";
import type { WorkloadHistory } from "./workload-history.ts";

/** All that a verdict is made from, gathered once everything has settled. */
export interface Evidence {
  fleets: readonly Fleet[];
  /** As the API server has them. */
  computes: readonly KubeObject[];
  pools: readonly KubeObject[];
  /** As the service's own store has them. */
  endpoints: readonly StoredEndpoint[];
  endpointHistory: readonly Entry[];
  /** Endpoints of others, as they were before the storm. */
  strangers: readonly StoredEndpoint[];
  /** What operators sent to the service. */
  requests: readonly CountedRequest[];
  workloadHistory: WorkloadHistory;
}
