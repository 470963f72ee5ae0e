import type { StoredEndpoint } from "../../src/service/store/endpoints.ts";
import { isJsonObject, type KubeObject } from "../simulation/api-server/objects.ts";
import { annotationOf, isOurs, signatureOfUID, statusOf, uidInSignature } from "../simulation/world/computes.ts";
import { complaints } from "../simulation/world/judge.ts";
import { fieldFacts } from "../support/compute-fields.ts";
import type { Entry } from "./endpoint-history.ts";
import type { Evidence } from "./evidence.ts";

/** Everything that is not as it was promised; nothing where all is well. */
export function verdict(evidence: Evidence): string[] {
  const { computes, endpoints, workloadHistory } = evidence;
  const retained = new Set(workloadHistory.deletions.filter(({ retain }) => retain).map(({ uid }) => uid));
  const pools = evidence.pools.map((pool) => ({
    uid: pool.metadata.uid,
    name: pool.metadata.name,
    replicas: isJsonObject(pool["spec"]) ? pool["spec"]["replicas"] : undefined,
    status: pool["status"],
  }));
  const ownedByOther = new Set(evidence.strangers.map(({ id }) => id));
  const ours = endpoints.filter(({ id }) => !ownedByOther.has(id));
  return [
    ...complaints({
      computes,
      endpoints: ours,
      pools,
      hasBranch: () => true,
      isBranchUsable: () => true,
      mayLeave: retained,
      namesShown: true,
      forgotten: new Set(),
      disabledFor: () => undefined,
      inFleet: false,
      isSignedOver: () => false,
      toTakeOver: () => undefined,
      isPlaceForgotten: () => false,
    }),
    ...oneEach(evidence),
    ...madeOnce(evidence),
    ...rightlyDeleted(evidence),
    ...retainedKept(evidence, retained),
    ...untouchedStrangers(evidence),
    ...restarts(evidence),
    ...asDeclared(evidence),
  ];
}

/** What is still at the service when all Computes are gone, and should not be. */
export function leftovers({ endpoints, strangers, workloadHistory }: Evidence): string[] {
  const ownedByOther = new Set(strangers.map(({ id }) => id));
  const kept = new Set(workloadHistory.deletions.filter(({ retain }) => retain).map(({ uid }) => signatureOfUID(uid)));
  return endpoints
    .filter(({ id, name }) => !ownedByOther.has(id) && !kept.has(name ?? ""))
    .map(({ id, name }) => `${id} (${name}) is still there when all is deleted`);
}

/** How many endpoints the service has that Computes own: what a fleet of n is to come to. */
export function ownedEndpoints({ computes, endpoints }: Pick<Evidence, "computes" | "endpoints">): number {
  return endpoints.filter((endpoint) => computes.some((compute) => isOurs(compute, endpoint))).length;
}

function oneEach({ computes, endpoints }: Evidence): string[] {
  return computes.flatMap((compute) => {
    const own = endpoints.filter((endpoint) => isOurs(compute, endpoint)).map(({ id }) => id);
    const { name } = compute.metadata;
    const linked = annotationOf(compute, "endpoint-id");
    if (own.length !== 1) return [`${name} has ${own.length} endpoints: ${own.join(", ")}`];
    return own[0] === linked ? [] : [`${name} is linked to ${linked}, and its endpoint is ${own[0]}`];
  });
}

/**
 * For one Compute an endpoint is made once, and once more for each that somebody deleted. A primary may be sent twice,
 * since the service refuses a second: a late one is found and deleted. And if somebody drops the note of a create
 * while no operator runs, no operator can know about that create.
 */
function madeOnce({ endpointHistory, workloadHistory }: Evidence): string[] {
  const made = endpointHistory.filter(
    ({ what, name }) => what === "made" && uidInSignature(name ?? undefined) !== undefined,
  );
  return [...Map.groupBy(made, ({ name }) => name ?? "")].flatMap(([name, entries]) => {
    const uid = uidInSignature(name) ?? "";
    const strikes = workloadHistory.strikes.filter((strike) => strike.uid === uid);
    const excused = entries.every(({ type }) => type === "read_write") || workloadHistory.replaced.has(uid);
    if (excused || entries.length <= 1 + strikes.length) return [];
    return [`for ${name} were made ${entries.map(({ endpoint, at }) => `${endpoint} at ${timeOf(at)}`).join(" and ")}`];
  });
}

/** What was deleted belonged to a Compute that was to go, or was one of two, or was struck by somebody. */
function rightlyDeleted({ endpointHistory, workloadHistory, computes, strangers }: Evidence): string[] {
  const excused = new Set([
    ...workloadHistory.strikes.map(({ endpoint }) => endpoint),
    ...strangers.map(({ id }) => id),
  ]);
  const deleted = endpointHistory.filter(({ what, endpoint }) => what === "deleted" && !excused.has(endpoint));
  return deleted.flatMap(({ endpoint, name, at }) => {
    const uid = uidInSignature(name ?? undefined);
    if (uid === undefined) return [`${endpoint}, which no Compute made, was deleted`];
    if (twinsOf(endpointHistory, name, at) > 0) return [];
    if (computes.some(({ metadata }) => metadata.uid === uid))
      return [`${endpoint} was deleted, and its Compute stands`];
    const asked = workloadHistory.deletions.find((deed) => deed.uid === uid);
    if (asked === undefined)
      return workloadHistory.made.has(uid) ? [`${endpoint} was deleted, and nobody deleted ${name}`] : [];
    return asked.at > at ? [`${endpoint} was deleted at ${timeOf(at)}, before ${asked.name} was`] : [];
  });
}

/** How many others with this mark stood right after this moment. */
function twinsOf(endpointHistory: readonly Entry[], signature: string | null, at: number): number {
  const until = endpointHistory.filter((entry) => entry.name === signature && entry.at <= at);
  return until.filter(({ what }) => what === "made").length - until.filter(({ what }) => what === "deleted").length;
}

/** What was to be kept when its Compute went is there. */
function retainedKept(
  { endpointHistory, workloadHistory, endpoints }: Evidence,
  retained: ReadonlySet<string>,
): string[] {
  return [...retained].flatMap((uid) => {
    const [made] = endpointHistory.filter(({ what, name }) => what === "made" && name === signatureOfUID(uid));
    const stands = endpoints.some(({ name }) => name === signatureOfUID(uid));
    const struck = workloadHistory.strikes.some((strike) => strike.uid === uid);
    if (made === undefined || stands || struck) return [];
    return [`${made.endpoint} was to be kept when its Compute went, and is gone`];
  });
}

function untouchedStrangers({ strangers, endpoints, endpointHistory, requests }: Evidence): string[] {
  return strangers.flatMap((before) => {
    const { id } = before;
    const after = endpoints.find((endpoint) => endpoint.id === id);
    const events = endpointHistory.filter(({ endpoint, what }) => endpoint === id && what !== "made" && what !== "up");
    const sent = requests.filter(({ method, path }) => method !== "GET" && path.includes(`/${id}`));
    return [
      ...(after === undefined ? [`${id}, which is a stranger's, is gone`] : []),
      ...(after !== undefined && givenOf(after) !== givenOf(before)
        ? [`${id}, which is a stranger's, was changed`]
        : []),
      ...events.map(({ what, at }) => `${id}, which is a stranger's, was ${what} at ${timeOf(at)}`),
      ...sent.map(({ method, path }) => `${method} ${path} was sent, to a stranger's endpoint`),
    ];
  });
}

/** What somebody gave an endpoint; its states change by themselves. */
function givenOf(endpoint: StoredEndpoint): string {
  const { branchId, type, name, suspendTimeoutSeconds, settings } = endpoint;
  const plain = fieldFacts.map(({ stored }) => endpoint[stored]);
  return JSON.stringify([branchId, type, name, suspendTimeoutSeconds, settings, ...plain]);
}

/** Each value at least once, unless a later one came; and never more often than was asked, but for lost replies. */
function restarts(evidence: Evidence): string[] {
  const { workloadHistory, endpointHistory, computes } = evidence;
  const asked = Map.groupBy(workloadHistory.restarts, ({ uid }) => uid);
  const bySignature = Map.groupBy(
    endpointHistory.filter(({ name }) => name !== null),
    ({ name }) => name,
  );
  return [...asked].flatMap(([uid, values]) => {
    const events = bySignature.get(signatureOfUID(uid)) ?? [];
    const times = restartsIn(events);
    const lost = lostRestarts(evidence, new Set(events.map(({ endpoint }) => endpoint)));
    const name = values[0]?.name ?? uid;
    const tooMany = times.filter((at, index) => {
      const reasons = [...values.map((value) => value.at), ...lost].filter((reason) => reason <= at);
      return index + 1 > reasons.length;
    });
    const compute = computes.find(({ metadata }) => metadata.uid === uid);
    return [
      ...tooMany.map((at) => `${name} was restarted at ${timeOf(at)}, and nobody had asked for another`),
      ...(compute === undefined ? [] : lastRestart(compute, events, evidence)),
    ];
  });
}

/** Starts but the first of each endpoint, which its creation set off. */
function restartsIn(events: readonly Entry[]): number[] {
  const started = new Set<string>();
  return events.flatMap(({ what, endpoint, at }) => {
    if (what !== "started") return [];
    const first = !started.has(endpoint);
    started.add(endpoint);
    return first ? [] : [at];
  });
}

/** When restarts of these endpoints were sent whose reply was lost on its way. */
function lostRestarts({ requests }: Evidence, endpoints: ReadonlySet<string>): number[] {
  return requests
    .filter(({ path, answeredAt, status }) => {
      const id = /\/endpoints\/([^/]+)\/restart$/.exec(path)?.[1];
      const unheard = answeredAt === undefined || (status ?? 500) >= 500;
      return id !== undefined && endpoints.has(id) && unheard;
    })
    .map(({ arrivedAt }) => performance.timeOrigin + arrivedAt);
}

/** The value that stands was carried out: the compute came up after it was asked for, if only with another size. */
function lastRestart(compute: KubeObject, events: readonly Entry[], { workloadHistory }: Evidence): string[] {
  const { name, uid } = compute.metadata;
  const wanted = annotationOf(compute, "restartedAt");
  const done = statusOf(compute)["restartedAt"];
  const last = workloadHistory.restarts.findLast((deed) => deed.uid === uid);
  if (wanted !== last?.value) return [`${name} was to be restarted for ${last?.value}, and is to be for ${wanted}`];
  if (done !== wanted) return [`${name} was to be restarted for ${wanted}, and says ${String(done)}`];
  const came = events.some(({ what, at }) => (what === "started" || what === "up") && at >= (last?.at ?? 0));
  return came ? [] : [`${name} says that it was restarted for ${wanted}, and was not`];
}

/** People ended with everything declared. */
function asDeclared({ fleets, computes }: Evidence): string[] {
  return fleets.flatMap(({ namespace, members, pool }) => {
    const names = computes
      .filter((compute) => compute.metadata.namespace === namespace)
      .map(({ metadata }) => metadata.name);
    const wanted = [
      ...members.map(({ name }) => name),
      ...Array.from({ length: pool.most }, (_, n) => `${pool.name}-${n}`),
    ];
    const missing = wanted.filter((name) => !names.includes(name));
    const extra = names.filter((name) => !wanted.includes(name));
    return [
      ...missing.map((name) => `${namespace}/${name} was declared and is not there`),
      ...extra.map((name) => `${namespace}/${name} is there and was not declared`),
    ];
  });
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(11, 23);
}
