import { setTimeout as sleep } from "node:timers/promises";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { installCrds } from "../control-plane/crds.ts";
import { connection, keySecret } from "../e2e/manifests.ts";
import type { KubeObject } from "../simulation/api-server/objects.ts";
import { Dice } from "../simulation/dice.ts";
import { seededRandom } from "../simulation/random.ts";
import { annotationOf, conditionOf, isDeleting, statusOf } from "../simulation/world/computes.ts";
import { CountingProxy } from "../support/counting-proxy.ts";
import { ServiceProcess } from "../support/processes.ts";
import { Books } from "./books.ts";
import { Cluster, pathOf } from "./cluster.ts";
import type { Evidence } from "./evidence.ts";
import { type Fleet, fleetOf } from "./fleet.ts";
import { plantLedger, readEndpoints, readLedger } from "./ledger.ts";
import { StormOperator } from "./operators.ts";
import { Person } from "./people.ts";
import { seedOf } from "./seed.ts";
import { ownedEndpoints, verdict } from "./verdict.ts";
import { isCreate, Weather } from "./weather.ts";

export interface StormOptions {
  /** How many Computes are declared in the end. */
  computes: number;
  /** How long the storm lasts, in seconds. */
  seconds: number;
  /** How long everything has to settle afterwards, in seconds. */
  settleSeconds: number;
  seed: number;
  progress: (line: string) => void;
}

export interface StormReport {
  /** Computes at the API server, and endpoints of theirs at the service. */
  declared: number;
  atService: number;
  figures: Record<string, number>;
  complaints: string[];
}

/** How long after a create of unknown outcome another may be sent, in seconds. */
const createSettleSeconds = 12;

/** One person for so many Computes. */
const membersPerPerson = 15;

/** A storm over real processes, from its beginnings to the verdict. */
export async function storm(options: StormOptions): Promise<StormReport> {
  await using stack = new AsyncDisposableStack();
  const half = Math.ceil(options.computes / 2);
  const fleets = [fleetOf("alpha", half), fleetOf("beta", options.computes - half)];
  const dice = new Dice(seededRandom(options.seed));
  const controlPlane = stack.use(await startControlPlane());
  const { kubeconfig, binaries } = controlPlane;
  await installCrds({ kubeconfig, kubectl: binaries.kubectl });
  const service = stack.use(await ServiceProcess.start({ seed: seedOf(fleets), timeScale: 5, args: ["--faults"] }));
  await service.kill();
  const projects = fleets.flatMap((fleet) => fleet.projects);
  const strangers = readEndpoints(service.dataFile, projects);
  plantLedger(service.dataFile);
  await service.start();
  const proxy = stack.use(await CountingProxy.start(service));
  const cluster = stack.use(new Cluster(kubeconfig));
  for (const fleet of fleets) await settleIn(cluster, fleet, proxy.baseURL);
  const operators = await Promise.all(
    fleets.map(async ({ namespace }) => stack.use(await startOperator(controlPlane, namespace))),
  );
  const books = new Books();
  const weather = new Weather({ controlPlane, service, proxy, dice, longestHeldMs: 1000 * (createSettleSeconds - 2) });
  const people = fleets.flatMap((fleet) => peopleOf(fleet, { cluster, books, dice }));

  const began = performance.now();
  const say = (line: string) =>
    options.progress(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${line}`);
  say(`a storm over ${options.computes} Computes for ${options.seconds} s, seed ${options.seed}`);
  await weather.begin();
  const over = AbortSignal.timeout(options.seconds * 1000);
  await Promise.all([
    ...people.map(async (person) => {
      await person.declareAll();
      await person.churn(over);
      await person.declareAll();
    }),
    ...operators.map((operator) => weather.killAgainAndAgain(operator, 8000, over)),
  ]);
  await weather.end();
  say("the storm is over; everything is to settle");
  await settled(cluster, fleets, people, options.settleSeconds);
  say("settled");
  await service.kill();
  const evidence: Evidence = {
    fleets,
    computes: await listAll(cluster, fleets, "computes"),
    pools: await listAll(cluster, fleets, "computepools"),
    endpoints: readEndpoints(service.dataFile, projects),
    ledger: readLedger(service.dataFile),
    strangers,
    requests: proxy.requests,
    books,
  };
  const keys = fleets.flatMap(({ key }) => [key, btoa(key)]);
  const leaks = operators.flatMap((operator) => operator.linesWith(keys)).map((line) => `a key in a log: ${line}`);
  return {
    declared: evidence.computes.length,
    atService: ownedEndpoints(evidence),
    figures: {
      ...books.counts,
      ...weather.counts,
      operatorKills: operators.reduce((sum, { kills }) => sum + kills, 0),
      clockSteps: operators.reduce((sum, { steps }) => sum + steps, 0),
      requests: proxy.requests.length,
      creates: proxy.requests.filter(isCreate).length,
      made: evidence.ledger.filter(({ what }) => what === "made").length,
      deleted: evidence.ledger.filter(({ what }) => what === "deleted").length,
      repliesLost: proxy.writes.filter(({ answeredAt }) => answeredAt === undefined).length,
    },
    complaints: [...verdict(evidence), ...leaks, ...operators.flatMap(({ deaths }) => deaths)],
  };
}

async function settleIn(cluster: Cluster, { namespace, key }: Fleet, baseURL: string): Promise<void> {
  await cluster.request({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name: namespace } } });
  await cluster.request({ method: "POST", path: `/api/v1/namespaces/${namespace}/secrets`, body: keySecret(key) });
  const path = pathOf(namespace, "serviceconnections");
  await cluster.request({ method: "POST", path, body: connection(baseURL) });
}

function startOperator({ kubeconfig }: ControlPlane, namespace: string): Promise<StormOperator> {
  return StormOperator.start({
    kubeconfig,
    allowedBaseURLs: ["http://127.0.0.1:*/api/v2"],
    namespaces: [namespace],
    args: ["--create-settle", `${createSettleSeconds}s`, "--max-deletes-per-minute", "6000", "--log-level", "debug"],
  });
}

function peopleOf(fleet: Fleet, shared: { cluster: Cluster; books: Books; dice: Dice }): Person[] {
  const count = Math.ceil(fleet.members.length / membersPerPerson);
  return Array.from({ length: count }, (_, index) => {
    const members = fleet.members.filter((__, nth) => nth % count === index);
    return new Person({ ...shared, fleet, members, scales: index === 0, pauseMs: 1500 });
  });
}

async function listAll(cluster: Cluster, fleets: readonly Fleet[], plural: string): Promise<KubeObject[]> {
  const lists = await Promise.all(fleets.map(({ namespace }) => cluster.list(namespace, plural)));
  return lists.flat();
}

/** Waits until everything that was declared is there and well, and makes anew what was still on its way out. */
async function settled(
  cluster: Cluster,
  fleets: readonly Fleet[],
  people: readonly Person[],
  seconds: number,
): Promise<void> {
  const size = fleets.reduce((sum, { members, pool }) => sum + members.length + pool.most, 0);
  const deadline = performance.now() + 1000 * seconds;
  for (;;) {
    const computes = await listAll(cluster, fleets, "computes");
    const unsettled = computes.filter((compute) => !isSettled(compute));
    if (unsettled.length === 0 && computes.length === size) return;
    // What is not well by now is for the verdict to tell.
    if (performance.now() > deadline) return;
    for (const person of people) await person.declareAll();
    await sleep(1000);
  }
}

function isSettled(compute: KubeObject): boolean {
  const ready = conditionOf(compute, "Ready");
  const status = statusOf(compute);
  const pending = ["pending-create", "pending-restart"].some((name) => annotationOf(compute, name) !== undefined);
  return (
    !isDeleting(compute) &&
    !pending &&
    ready?.status === "True" &&
    status["observedGeneration"] === compute.metadata.generation &&
    (status["restartedAt"] ?? annotationOf(compute, "restartedAt")) === annotationOf(compute, "restartedAt")
  );
}
