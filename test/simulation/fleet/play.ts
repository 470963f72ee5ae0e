import type { Endpoint } from "../../../src/api/endpoint.ts";
import { sleep } from "../../../src/operator/runtime/clock.ts";
import type { Logger } from "../../../src/operator/runtime/log.ts";
import { NoResponseError, type ServiceTransport } from "../../../src/operator/service-client/transport.ts";
import { goodKey } from "../../integration/support/seeded-service.ts";
import { isReady } from "../../support/is-ready.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { isJsonObject, type JsonObject } from "../api-server/objects.ts";
import { Dice } from "../dice.ts";
import { seededRandom } from "../random.ts";
import { signatureIn } from "../world/computes.ts";
import { type Cluster, Clusters } from "./clusters.ts";
import { FormerNames } from "./former-names.ts";
import { wrongIn } from "./judge.ts";
import { Witness } from "./witness.ts";

/** How long faults last, and how long everything then has to come to rest, in seconds. */
const stormySeconds = 180;
const restSeconds = 300;

/** How old a view may be on which an operator still acts in good faith: its request may be on the way. */
const inGoodFaithMs = 10_000;

/** How long after the endpoint was read its deletion may arrive: both take their time, and the budget between them. */
const readAgoMs = 6000;

const names = ["a", "b", "c", "d"] as const;
const branches = ["br-one", "br-two"] as const;

/** A mistake between an operator and the service, planted from outside. */
export type Plant = (inner: ServiceTransport) => ServiceTransport;

/** One random play: clusters that come, go and stand side by side under one fleet. Answers what was wrong. */
export async function playFleet(seed: number, plant: Plant = (inner) => inner): Promise<string[]> {
  const dice = new Dice(seededRandom(seed ^ 0xf1ee7));
  await using world = new Clusters({ branches, seed });
  const wrong: string[] = [];
  /** By id of the endpoint: the witness of the cluster that moved it last. */
  const movers = new Map<string, Witness>();
  const formerNames = new FormerNames(world.clock);
  let stormy = true;
  const way = (witness: () => Witness, fleet: () => string) => (inner: ServiceTransport) =>
    plant(faulty(judged(inner, world, { witness, fleet, formerNames, movers, wrong }), world, dice, () => stormy));
  const newCluster = () => {
    const made: { witness?: Witness } = {};
    const witness = () => {
      if (made.witness === undefined) throw new Error("the cluster sends before it stands");
      return made.witness;
    };
    const fleet = { name: "prod" };
    const cluster = world.cluster({ fleet: "prod", way: way(witness, () => fleet.name), log: complaining(wrong) });
    made.witness = new Witness(cluster.server, world.clock, inGoodFaithMs);
    return { cluster, fleet, witness: made.witness };
  };
  const standing = [newCluster()];
  const pick = () => dice.pick(standing);
  for (let second = 0; second < stormySeconds; second += dice.between(1, 12)) {
    await world.clock.advance(dice.between(200, 12_000));
    const { cluster, fleet } = pick();
    const name = dice.pick(names);
    await dice.weighted<() => Promise<void> | void>([
      [12, () => () => apply(cluster, name, specOf(dice))],
      [4, () => () => remove(cluster, name)],
      [
        2,
        () => async () => {
          await cluster.stop();
          if (dice.chance(0.3)) fleet.name = dice.pick(["prod", "live"]);
          cluster.start({ fleet: fleet.name });
        },
      ],
      [
        1,
        () => async () => {
          // The cluster is lost, and another takes its place.
          await cluster.stop();
          standing.splice(
            standing.findIndex((one) => one.cluster === cluster),
            1,
            newCluster(),
          );
        },
      ],
      [1, () => () => void (standing.length < 2 && standing.push(newCluster()))],
      [1, () => () => forge(world, dice)],
      [1, () => () => deleteOutside(world, dice)],
    ])();
    if (wrong.length > 0) return wrong;
  }
  stormy = false;
  await world.clock.advance(restSeconds * 1000);
  return [
    ...wrong,
    ...standing.flatMap(({ cluster, witness }) => {
      const movedByOther = new Set([...movers].flatMap(([id, mover]) => (mover === witness ? [] : [id])));
      return atRest(cluster, world.endpoints, movedByOther);
    }),
  ];
}

/** Takes down what the last guard of an operator stops: of correct code it stops nothing. */
function complaining(wrong: string[]): Logger {
  return {
    ...silentLogger,
    error: ({ rule }, message) => {
      if (rule !== undefined) wrong.push(message);
    },
    child: () => complaining(wrong),
  };
}

/** What is wrong at the end: a Compute that says nothing true, or two endpoints with one uid. */
function atRest(cluster: Cluster, endpoints: readonly Endpoint[], movedByOther: ReadonlySet<string>): string[] {
  return cluster.computes().flatMap((compute) => {
    const { name, uid, deletionTimestamp } = compute.metadata;
    const said = cluster.said(name);
    const own = endpoints.filter((endpoint) => signatureIn(endpoint.name)?.uid === uid);
    if (own.length > 1) return [`${own.map(({ id }) => id).join(" and ")} bear the uid of ${name}`];
    // Nothing shows through which key an endpoint was made that somebody deleted right then: a person decides.
    if (said.startsWith("MassLoss") && own.length === 0) return [];
    // Another cluster of the fleet moved it in good faith, right before it was taken over: a person decides.
    if (said.startsWith("MovedOutside") && own.some(({ id }) => movedByOther.has(id))) return [];
    if (deletionTimestamp !== undefined) return [`${name} is still being deleted (${said})`];
    if (isReady(compute))
      return own.length === 1 ? [] : [`${name} is ready without an endpoint that it signed (${said})`];
    const [, holder] = /^Creating: Waiting until Compute shop\/(\w+) has left/.exec(said) ?? [];
    // Another Compute is to leave the branch, and cannot.
    const waits = holder !== undefined && /^(PrimaryExists|Conflict)/.test(cluster.said(holder));
    return waits || /^(PrimaryExists|Conflict)/.test(said) ? [] : [`${name} is not ready (${said})`];
  });
}

function specOf(dice: Dice): JsonObject {
  return {
    branchID: dice.pick(branches),
    type: dice.chance(0.5) ? "read_only" : "read_write",
    ...(dice.chance(0.7) ? { adopt: { former: true } } : {}),
    ...(dice.chance(0.4) ? { deletionPolicy: "Retain" } : {}),
  };
}

/** `kubectl apply`; a type cannot be changed, so the Compute keeps it. */
function apply(cluster: Cluster, name: string, spec: JsonObject): void {
  const before = cluster.findCompute(name);
  if (before?.metadata.deletionTimestamp !== undefined) return;
  cluster.apply(name, before === undefined ? spec : { ...spec, type: before.spec.type });
}

function remove(cluster: Cluster, name: string): void {
  if (cluster.findCompute(name) !== undefined) cluster.remove(name);
}

/** A late create of a former Compute: an endpoint with the name of another that there is, once in a while. */
function forge(world: Clusters, dice: Dice): void {
  const replicas = world.endpoints.filter(({ type }) => type === "read_only");
  if (replicas.length === 0) return;
  const { name = "" } = dice.pick(replicas);
  const uid = `${"0".repeat(31)}${dice.between(1, 9)}`;
  const endpoint = { branch_id: dice.pick(branches), type: "read_only", name: name.replace(/[0-9a-f]{32}$/, uid) };
  world.console("POST", "/projects/shop/endpoints", { endpoint });
}

/** Somebody deletes an endpoint at the service. */
function deleteOutside(world: Clusters, dice: Dice): void {
  if (world.endpoints.length === 0) return;
  const { id } = dice.pick(world.endpoints);
  const path = `/projects/shop/endpoints/${id}`;
  // While an operation of the project runs, the service refuses.
  const { status } = world.host.service.call({
    method: "DELETE",
    path: `/api/v2${path}`,
    headers: { authorization: `Bearer ${goodKey}` },
  });
  if (status !== 200 && status !== 423) throw new Error(`the service answers ${status} to DELETE ${path}`);
}

/** Every write is judged as it arrives. */
function judged(
  inner: ServiceTransport,
  world: Clusters,
  {
    witness,
    fleet,
    formerNames,
    movers,
    wrong,
  }: {
    witness: () => Witness;
    fleet: () => string;
    formerNames: FormerNames;
    movers: Map<string, Witness>;
    wrong: string[];
  },
): ServiceTransport {
  return {
    async send(request, options) {
      const { method, path, body } = request;
      const [endpointID] = /ep-[^/]+$/.exec(path) ?? [];
      if (method !== "GET" && endpointID !== undefined) {
        formerNames.see(world.endpoints);
        const former = formerNames.lately(endpointID, readAgoMs);
        const found = wrongIn({ method, endpointID, body }, world.endpoints, witness().view(fleet()), former);
        if (found !== undefined) wrong.push(found);
      }
      const response = await inner.send(request, options);
      if (method !== "GET") formerNames.see(world.endpoints);
      if (endpointID !== undefined && response.status === 200 && isMove(body)) movers.set(endpointID, witness());
      return response;
    },
  };
}

function isMove(body: unknown): boolean {
  return isJsonObject(body) && isJsonObject(body["endpoint"]) && body["endpoint"]["branch_id"] !== undefined;
}

/** Requests that take their time, are dropped, or whose answers are; times in milliseconds. */
function faulty(inner: ServiceTransport, { clock }: Clusters, dice: Dice, stormy: () => boolean): ServiceTransport {
  return {
    async send(request, options) {
      await sleep(clock, dice.between(1, 200), options.signal);
      if (stormy() && dice.chance(0.05)) throw new NoResponseError("ECONNREFUSED");
      const response = await inner.send(request, options);
      await sleep(clock, dice.between(1, 200), options.signal);
      if (stormy() && dice.chance(0.08)) throw new NoResponseError("ECONNRESET: the connection was cut");
      return response;
    },
  };
}
