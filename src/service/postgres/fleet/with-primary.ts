import type { ServerConfig } from "../server/config.ts";
import { endOverflowed } from "../session/overflowed.ts";
import { unheld } from "../session/unheld.ts";
import type { FleetPorts, Running } from "./fleet-ports.ts";
import { caughtUp, endOfLog } from "./replay.ts";

/** Wait for a standby before clients' transactions at its primary are ended that keep it waiting, in milliseconds. */
const patienceMs = 10_000;

/** A standby that is to start. */
interface Standby {
  config: ServerConfig;
  start: () => Promise<void>;
  stop: () => Promise<void>;
}

/**
 * Starts a standby whose primary may run. It lets clients in by the passwords that it has: before any may come, it gets
 * what its primary had, or stops.
 */
export async function withPrimary(
  { clock, sessions }: Pick<FleetPorts, "clock" | "sessions">,
  primary: Running | undefined,
  { config, start, stop }: Standby,
): Promise<void> {
  const free = async (of: Running) => {
    using client = await sessions.open(of.config, "postgres");
    await endOverflowed(client);
  };
  // The start itself says that it fails.
  const stopTimer = clock.after(patienceMs, () => primary && void free(primary).catch(() => {}));
  await start().finally(stopTimer);
  if (!primary) return;
  try {
    using own = await unheld((database) => sessions.open(primary.config, database), clock)("postgres");
    using standby = await sessions.open(config, "postgres");
    const position = await endOfLog(own);
    // A commit sends what open transactions have written, which may be long in coming. No id may be left for it.
    await own.query("SELECT pg_current_xact_id()").catch(() => []);
    await caughtUp(position, standby, clock);
  } catch (error) {
    await stop();
    throw error;
  }
}
