import { ownerOf } from "../../accounts/owner.ts";
import { ServerFailed } from "../host/failure.ts";
import { processesOf, type ServerConfig } from "../server/config.ts";
import type { PostgresServer } from "../server/server.ts";
import type { FleetPorts } from "./fleet-ports.ts";

const shareTaken =
  "the owner's computes and their clients have their share of the processes of this machine: suspend another compute";

/** Starts a compute's server with as many processes of its owner's share as it may have, until its end. */
export async function withProcesses(
  { processShares, store }: Pick<FleetPorts, "processShares" | "store">,
  endpointId: string,
  config: ServerConfig,
  launch: () => Promise<PostgresServer>,
): Promise<PostgresServer> {
  const place = processShares.of(ownerOf(store, endpointId));
  if (!place.take(processesOf(config))) throw new ServerFailed(shareTaken);
  const server = await launch().catch((error: unknown) => {
    place.release();
    throw error;
  });
  server.onEnd(() => place.release());
  return server;
}
