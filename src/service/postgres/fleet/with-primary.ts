import { endOverflowed } from "../session/overflowed.ts";
import type { FleetPorts, Running } from "./fleet-ports.ts";

/** Wait for a standby before clients' transactions at its primary are ended that keep it waiting, in milliseconds. */
const patienceMs = 10_000;

/** Starts a standby whose primary may run. */
export function withPrimary(
  { clock, sessions }: Pick<FleetPorts, "clock" | "sessions">,
  primary: Running | undefined,
  start: () => Promise<void>,
): Promise<void> {
  const free = async ({ config }: Running) => {
    using client = await sessions.open(config, "postgres");
    await endOverflowed(client);
  };
  // The start itself says that it fails.
  const stop = clock.after(patienceMs, () => primary && void free(primary).catch(() => {}));
  return start().finally(stop);
}
