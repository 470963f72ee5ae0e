import { setTimeout as sleep } from "node:timers/promises";
import { Dice } from "../simulation/dice.ts";
import { seededRandom } from "../simulation/random.ts";
import { readEndpoints, readLedger } from "./endpoint-history.ts";
import type { Evidence } from "./evidence.ts";
import type { Fleet } from "./fleet.ts";
import { historyOf } from "./history.ts";
import { Intruder } from "./intruder.ts";
import { Person } from "./person.ts";
import { clearAway, comeToRest, listAll, settle } from "./rest.ts";
import { StormStage } from "./storm-stage.ts";
import { leftovers, ownedEndpoints, verdict } from "./verdict.ts";
import { isCreate, Weather } from "./weather.ts";
import { WorkloadHistory } from "./workload-history.ts";

export interface StormOptions {
  /** How many Computes are declared in the end. */
  computes: number;
  /** How long users make changes at the least, in seconds; every disaster comes about once in each of `rounds`. */
  seconds: number;
  rounds: number;
  /** How long the service is gone at a time, in seconds. */
  serviceGoneSeconds: number;
  /** The longest life of the operator that is killed over and over, in seconds. */
  longestLifeSeconds: number;
  /** How many changes all users make in a second. */
  deedsPerSecond: number;
  /** `--create-settle` of the operators, in seconds. */
  createSettleSeconds: number;
  /** How long creates are held up at the most: less than that, by as much as the machine may stand still. */
  longestHeldSeconds: number;
  /** Of the connections, e.g. `5s`. */
  refreshInterval: string;
  /** How long everything has to settle afterwards, in seconds. */
  settleSeconds: number;
  /** How long nothing is written then, in seconds. */
  quietSeconds: number;
  seed: number;
  progress: (line: string) => void;
}

export interface StormReport {
  /** Computes at the API server. */
  declared: number;
  /** Endpoints of theirs at the service. */
  atService: number;
  /** How much of everything there was. */
  figures: Record<string, number>;
  /** What was not as it is promised. */
  complaints: string[];
  /** All that is known of those whom the first complaints name. */
  histories: string[];
}

/** So many complaints are reported with their history. */
const toldInFull = 3;

/** One person for so many Computes. */
const membersPerPerson = 15;

/** A storm over real processes, from its beginnings to the verdict. */
export async function storm(options: StormOptions): Promise<StormReport> {
  const { computes, seconds, rounds, seed, progress } = options;
  const began = performance.now();
  const say = (line: string) =>
    progress(`${String(Math.round((performance.now() - began) / 1000)).padStart(5)} s  ${line}`);
  await using stage = await StormStage.start(options);
  const dice = new Dice(seededRandom(seed));
  const workloadHistory = new WorkloadHistory();
  const workload = stage.fleets.flatMap((fleet) => peopleOf(fleet, { stage, workloadHistory, dice }, options));
  const weather = new Weather({
    stage,
    dice,
    longestHeldMs: 1000 * options.longestHeldSeconds,
    serviceGoneMs: 1000 * options.serviceGoneSeconds,
    longestLifeMs: 1000 * options.longestLifeSeconds,
  });

  say(`a storm over ${computes} Computes, seed ${seed}`);
  await Promise.all(stage.operators.map((operator) => operator.ready()));
  await weather.begin();
  const over = new AbortController();
  const churning = workload.map(async (person) => {
    await person.declareMissing([]);
    await person.churn(over.signal);
  });
  const killing = weather.keepKilling(over.signal);
  const enough = sleep(1000 * seconds);
  for (let round = 0; round < rounds; round++) await weather.disasters(say);
  await enough;
  over.abort();
  await Promise.all([...churning, killing]);
  await Promise.all(workload.map(async (person) => person.declareMissing(await listAll(stage, "computes"))));
  await weather.end();

  say("the storm is over: everything is to settle");
  await settle(stage, workload, options.settleSeconds);
  say(`settled: nothing is to be written for ${options.quietSeconds} s`);
  const unrest = await comeToRest(stage, options.quietSeconds, options.settleSeconds);
  say("the service's own store is read");
  const evidence = await gather(stage, workloadHistory);
  say("users delete everything");
  const left = await clearAway(stage, options.settleSeconds);
  const after = await gather(stage, workloadHistory);
  say("done");
  const keys = stage.fleets.flatMap(({ key }) => [key, btoa(key)]);
  const leaks = stage.operators.flatMap((operator) => operator.linesWith(keys)).map((line) => `logged a key: ${line}`);
  const complaints = [
    ...verdict(evidence),
    ...unrest,
    ...left,
    ...leftovers(after),
    ...leaks,
    ...stage.operators.flatMap(({ deaths }) => deaths),
  ];
  const logs = stage.operators.flatMap((operator) => operator.linesWith([""]));
  return {
    declared: evidence.computes.length,
    atService: ownedEndpoints(evidence),
    figures: figuresOf(stage, weather, evidence),
    complaints,
    histories: complaints
      .slice(0, toldInFull)
      .flatMap((complaint) => [complaint, ...historyOf(complaint, after, logs)]),
  };
}

function peopleOf(
  fleet: Fleet,
  { stage, workloadHistory, dice }: { stage: StormStage; workloadHistory: WorkloadHistory; dice: Dice },
  { deedsPerSecond, computes }: StormOptions,
): Person[] {
  const count = Math.ceil(fleet.members.length / membersPerPerson);
  const all = Math.ceil(computes / membersPerPerson);
  const intruder = new Intruder({ service: stage.service, key: fleet.key, workloadHistory, dice });
  return Array.from({ length: count }, (_, index) => {
    const members = fleet.members.filter((__, nth) => nth % count === index);
    const pauseMs = (2 * 1000 * all) / deedsPerSecond;
    const shared = { cluster: stage.cluster, workloadHistory, intruder, dice, fleet, pauseMs };
    return new Person({ ...shared, members, scales: index === 0 });
  });
}

/** The service is killed for it: what counts is what it has written, and while it runs nobody else may read that. */
async function gather(stage: StormStage, workloadHistory: WorkloadHistory): Promise<Evidence> {
  const computes = await listAll(stage, "computes");
  const pools = await listAll(stage, "computepools");
  const { service, fleets, strangers, proxy, projects } = stage;
  await service.kill();
  const endpoints = readEndpoints(service.dataFile, projects);
  const endpointHistory = readLedger(service.dataFile);
  await service.start();
  return { fleets, computes, pools, endpoints, endpointHistory, strangers, requests: proxy.requests, workloadHistory };
}

function figuresOf(
  { operators, proxy }: StormStage,
  weather: Weather,
  { endpointHistory, workloadHistory }: Evidence,
): Record<string, number> {
  const answered = (...statuses: number[]) =>
    proxy.requests.filter(({ status = 0 }) => statuses.includes(status)).length;
  const entries = (what: string) => endpointHistory.filter((entry) => entry.what === what).length;
  return {
    ...workloadHistory.counts,
    ...weather.counts,
    "operators killed": operators.reduce((sum, { kills }) => sum + kills, 0),
    "clock steps": operators.reduce((sum, { steps }) => sum + steps, 0),
    requests: proxy.requests.length,
    "creates sent": proxy.requests.filter(isCreate).length,
    "endpoints made": entries("made"),
    "endpoints deleted": entries("deleted"),
    "writes without a reply": proxy.writes.filter(({ answeredAt }) => answeredAt === undefined).length,
    "answered 423": answered(423),
    "answered 429": answered(429),
    "answered 5xx": answered(500, 503),
  };
}
