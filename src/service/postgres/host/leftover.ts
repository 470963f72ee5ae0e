import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { elapsed, type ServiceClock } from "../../clock.ts";
import { ServerFailed } from "./failure.ts";
import type { Processes } from "./processes.ts";

/** Largest difference between two accounts of one start, in seconds. */
const tolerance = 3;

/** Time that a server has for a fast shutdown, and then for an immediate one, in milliseconds. */
const patienceMs = 10_000;

/**
 * Stops the server that an earlier service has left over in a data directory, if there is one. A process is signalled
 * only if its id, its start and its directory are those that the directory's own file names, or if it is one of
 * Postgres's there.
 */
export async function stopLeftover(data: string, processes: Processes, clock: ServiceClock): Promise<void> {
  const file = join(data, "postmaster.pid");
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return;
  const [pidLine = "", directory = "", started = ""] = text.split("\n");
  const pid = Number(pidLine);
  const runs = async () => {
    const facts = await processes.facts(pid);
    if (facts === undefined || Math.abs(facts.startedAt - Number(started)) > tolerance) return false;
    return directory === data && (facts.place === data || facts.place.includes(`-D ${data}`));
  };
  const left = async () => ((await runs()) ? [pid] : processes.processesIn(data));
  // A server that was killed leaves sessions that compute without a pause: beside one of them no other server starts.
  let found = await left();
  for (const name of ["INT", "QUIT"] as const) {
    for (const one of found) processes.signal(one, name);
    const until = clock.now() + patienceMs;
    while (found.length > 0 && clock.now() < until) {
      await elapsed(clock, 50);
      found = await left();
    }
  }
  const [still] = found;
  if (still) throw new ServerFailed(`a server that was left over in ${data} does not stop: end process ${still}`);
  await rm(file, { force: true });
}
