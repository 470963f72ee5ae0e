import { z } from "zod";
import type { Shard } from "../../support/flags.ts";
import { crashPointsAt, type Effect, type Fault, type FaultAt, faults } from "../world/crash-point.ts";
import { play } from "../world/run.ts";
import type { Script } from "../world/run-script.ts";
import { scenarios } from "../world/scenarios.ts";

// Every scenario is played with one fault at each of its requests, and with a second fault at each request after that.
// The first fault changes which requests follow, so the requests of the second are counted in the run with the first.

/** Which faults are played, of all scenarios or of one. */
export const Chosen = z.object({
  /** One in so many of the first faults: of those at one request too, so that no request is left out. */
  singleShare: z.number(),
  /** The part of the pairs that begin with these: the parts together are all pairs, and no pair is in two. */
  pairShard: z.object({ part: z.number(), parts: z.number() }),
  only: z.string().optional(),
});
export type Chosen = z.infer<typeof Chosen>;

/** What one worker plays: every `workers`th first fault from `index` on. */
export const Work = Chosen.extend({ index: z.number(), workers: z.number() });
export type Work = z.infer<typeof Work>;

/** What became of one first fault, and of the pairs that begin with it. */
export const Tally = z.object({
  scenario: z.string(),
  /** Pairs that were played, and how many there are. */
  played: z.number(),
  pairs: z.number(),
  failures: z.array(z.string()),
});
export type Tally = z.infer<typeof Tally>;

/** Plays the share of one worker; `report` is called with each first fault as its pairs are done. */
export async function playWork(
  { index, workers, singleShare, pairShard, only }: Work,
  report: (tally: Tally) => void,
): Promise<void> {
  let count = 0;
  for (const [scenario, script] of Object.entries(scenarios)) {
    if (only !== undefined && scenario !== only) continue;
    const { requests } = await playWith(script);
    for (const first of every(requests)) {
      if ((first.number + faults.indexOf(first.fault)) % singleShare !== 0) continue;
      count += 1;
      if (count % workers === index) report({ scenario, ...(await playFrom(script, first, count, pairShard)) });
    }
  }
}

async function playFrom(
  script: Script,
  first: FaultAt,
  count: number,
  { part, parts }: Shard,
): Promise<Omit<Tally, "scenario">> {
  const { requests, wrong } = await playWith(script, first);
  const failures = [...wrong];
  const seconds = [...every(requests, first.number)];
  // Pairs beside each other are alike, so a part takes them far apart.
  const chosen = seconds.filter((_, index) => (count * 31 + index) % parts === part - 1);
  if (wrong.length === 0) for (const second of chosen) failures.push(...(await playWith(script, first, second)).wrong);
  return { played: wrong.length === 0 ? chosen.length : 0, pairs: seconds.length, failures };
}

/** Every fault at every request after this number. */
function* every(requests: readonly Effect[], after = 0): Iterable<FaultAt> {
  for (const [index, request] of requests.entries()) {
    const number = index + 1;
    if (number > after) for (const fault of faultsOf(request)) yield { number, fault };
  }
}

/** A read that the service carries out too late has no effect: to its sender it is one whose reply is lost. */
function faultsOf({ port, what }: Effect): readonly Fault[] {
  const isRead = port === "service" && what.startsWith("GET ");
  return isRead ? faults.filter((fault) => fault !== "late effect") : faults;
}

/** Plays a script with these faults: the requests that left before all was well, and what was wrong, in words. */
export async function playWith(
  script: Script,
  ...planned: readonly FaultAt[]
): Promise<{ requests: readonly Effect[]; wrong: string[] }> {
  const { crashPoint, passed } = crashPointsAt(...planned);
  let requests: readonly Effect[] = [];
  const onRest = () => {
    requests = [...passed()];
  };
  const { violations } = await play(script, { crashPoint, onRest });
  const at = planned.map(({ number, fault }) => inWords(fault, number, passed()[number - 1])).join(", then ");
  return { requests, wrong: violations.map(({ promise, message }) => `${at}: ${promise}: ${message}`) };
}

function inWords(fault: Fault, number: number, request: Effect | undefined): string {
  return `${fault} at request ${number} (${request?.port}: ${request?.what})`;
}
