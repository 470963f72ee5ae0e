import { replicatesLogically } from "../../domain/replication.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import { allowedOf } from "../server/allowed-settings.ts";
import { type ServerConfig, smallest } from "../server/config.ts";
import { temporaryDiskKiB } from "../server/temporary-disk.ts";
import type { FleetPorts } from "./fleet-ports.ts";

type ConfigPorts = Pick<FleetPorts, "store" | "sockets" | "temporaryDiskScale">;

/** The settings of a compute's server; `primary` is where a standby finds its own. */
export function computeConfig(
  { store, sockets, temporaryDiskScale }: ConfigPorts,
  endpoint: StoredEndpoint,
  major: number,
  { limits, primary }: Pick<ServerConfig, "limits" | "primary">,
): ServerConfig {
  const project = store.projects.get(endpoint.projectId);
  return {
    major,
    limits,
    temporaryDiskKiB: temporaryDiskKiB({ min: endpoint.minCu, max: endpoint.maxCu }, temporaryDiskScale),
    sockets: sockets.of(primary ? `compute ${endpoint.id}` : `branch ${endpoint.branchId}`),
    settings: allowedOf(endpoint.settings.pg_settings),
    logical: project !== undefined && replicatesLogically(project),
    primary,
  };
}

/** The settings of a server that only the service uses. */
export function ownConfig({ sockets }: ConfigPorts, data: string, major: number): ServerConfig {
  return {
    major,
    limits: smallest,
    temporaryDiskKiB: undefined,
    sockets: sockets.of(`data ${data}`),
    settings: {},
    // Data with logical slots starts only so.
    logical: true,
    primary: undefined,
  };
}
