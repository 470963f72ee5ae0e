import { ownerOf, presentOwnerOf } from "../../accounts/owner.ts";
import { messageOf } from "../../error-message.ts";
import { Repeated } from "../../repeated.ts";
import { ServerFailed } from "../host/failure.ts";
import { processesOf, type ServerConfig } from "../server/config.ts";
import type { PostgresServer } from "../server/server.ts";
import type { FleetPorts, Running } from "./fleet-ports.ts";

export const shareTaken =
  "the owner's computes and their clients have their share of the processes of this machine: suspend another compute";

/** Interval at which the processes of servers that run are counted, in milliseconds. */
const everyMs = 1000;

/** A server that is to start for a compute, and its data directory. */
interface Starting {
  endpointId: string;
  data: string;
  config: ServerConfig;
}

/**
 * Starts a compute's server with as many processes of its owner's share as it may have, until its end. It may come to
 * have more than those and its clients' places: PgBouncer leaves sessions whose clients have left amid a statement,
 * and keeps others for the next ones; and one that is logged out ends later.
 */
export async function withProcesses(
  ports: Pick<FleetPorts, "clients" | "clock" | "processes" | "processShares" | "report" | "store">,
  { endpointId, data, config }: Starting,
  launch: () => Promise<PostgresServer>,
): Promise<Pick<Running, "server" | "expectClient">> {
  const { clients, clock, processes, processShares, store } = ports;
  const place = processShares.of(ownerOf(store, endpointId));
  const own = processesOf(config);
  if (!place.take(own)) throw new ServerFailed(shareTaken);
  const server = await launch().catch((error: unknown) => {
    place.release();
    throw error;
  });
  let all = 0;
  const hold = (coming = 0) => {
    const ofClients = clients.count(endpointId, false) + clients.count(endpointId, true) + coming;
    place.hold(Math.max(own, all - ofClients));
  };
  const count = async () => {
    all = await processes.numberAt(data);
    if (!server.running) return;
    place.moveTo(presentOwnerOf(store, endpointId));
    hold();
  };
  const counting = new Repeated(clock, everyMs, count, (error) => ports.report(messageOf(error)));
  const end = () => {
    void counting.close();
    place.release();
  };
  server.onEnd(end);
  // Without a limit no share is ever full.
  if (server.running && Number.isFinite(processes.most)) counting.begin();
  return { server, expectClient: () => hold(1) };
}
