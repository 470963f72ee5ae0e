import { type ServiceClock, within } from "../../clock.ts";
import { Repeated } from "../../repeated.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import type { TextRow } from "../session/sql-client.ts";
import { isPrimary, replicasOf } from "./fleet-ports.ts";

/** A server that runs. */
interface Watched {
  endpoint: Pick<StoredEndpoint, "branchId" | "id" | "type">;
  server: object;
}

interface ReplicaWatchPorts<Server extends Watched> {
  clock: Pick<ServiceClock, "after">;
  fleet: { running(): readonly Server[] };
  verifiers: { ask(of: Server, sql: string): Promise<readonly TextRow[]> };
  startAgain: (endpointId: string) => void;
  onError: (error: unknown) => void;
}

/** Interval at which replicas are looked at, and the wait for an answer, in milliseconds. */
const [everyMs, answerMs] = [60_000, 10_000];

/** Place in the log of a replica that does not follow its primary. */
const standstill = `SELECT coalesce(pg_last_wal_replay_lsn(), '0/0')
  WHERE NOT EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming')`;

/**
 * Has replicas start again that have lost the log of their primaries, as where they were held up while much was
 * written: they would show old data for ever. One that gets further without its primary is left alone.
 */
export function replicaWatch<Server extends Watched>(ports: ReplicaWatchPorts<Server>): Repeated {
  const { clock, fleet, verifiers, startAgain, onError } = ports;
  let before = new Map<object, string>();
  const look = async () => {
    const all = fleet.running();
    const primaries = all.filter(({ endpoint }) => isPrimary(endpoint));
    const replicas = primaries.flatMap(({ endpoint }) => replicasOf(endpoint.branchId, all));
    const now = new Map<object, string>();
    const asked = replicas.map(async (one) => {
      const answer = verifiers.ask(one, standstill).catch(() => undefined);
      const rows = await within(clock, answerMs, answer);
      const position = rows?.[0]?.[0];
      if (typeof position !== "string") return;
      if (before.get(one.server) === position) startAgain(one.endpoint.id);
      else now.set(one.server, position);
    });
    await Promise.all(asked);
    before = now;
  };
  return new Repeated(clock, everyMs, look, onError);
}
