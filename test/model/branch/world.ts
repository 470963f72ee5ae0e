import type { ListedBranch } from "../../../src/api/branch.ts";
import { BranchListing } from "../../../src/api/branch-listing.ts";
import { InMemoryPatcher } from "../../../src/cli/plan/in-memory-patcher.ts";
import { begin, noteList } from "../../../src/operator/branch/begin.ts";
import { execute, restoreFinalizer } from "../../../src/operator/branch/execute.ts";
import { guard } from "../../../src/operator/branch/guard.ts";
import { type BranchMemory, newMemory } from "../../../src/operator/branch/memory.ts";
import { findLinked, linkedID, type Observation, type Unobserved } from "../../../src/operator/branch/observation.ts";
import type { Outcome } from "../../../src/operator/branch/outcome.ts";
import { planBranch } from "../../../src/operator/branch/plan/plan.ts";
import { branchReasons } from "../../../src/operator/branch/reasons.ts";
import { nextStatus } from "../../../src/operator/branch/status.ts";
import { type Branch, branchNameOf, parseBranch } from "../../../src/operator/resources/branch.ts";
import { finalizers } from "../../../src/operator/resources/names.ts";
import type { Clock } from "../../../src/operator/runtime/clock.ts";
import { ApiKey } from "../../../src/operator/service-client/account.ts";
import { RequestBudget } from "../../../src/operator/service-client/budget.ts";
import { ServiceClient } from "../../../src/operator/service-client/client.ts";
import { type Fate, newService, pass, type ServiceState, transportTo } from "./service.ts";

// One Branch in a small world: its object, the memory of one process, and the service. The operator's own observation,
// plan, executor and status make each step; what happens to a step is the search's to choose.

export const uid = "0f6c1d1e-8d5b-4c57-9a3e-000000000001";
export const settleMs = 60_000;

/** All that a search copies to go on from. */
export interface State {
  now: number;
  /** `undefined` once its finalizer has let it go. */
  object: Branch | undefined;
  memory: BranchMemory;
  service: ServiceState;
  /** What a list that lags shows: the branches before the last step. */
  before: ListedBranch[];
  /** Values of `resetAt` that were asked for. */
  resetsAsked: number;
  /** Fresh branches that a person has asked for. */
  createsAsked: number;
  /** The ids of the branches that the object was linked to. */
  linked: string[];
  /** The status was wiped: it cannot say that there was a branch. */
  wasWiped: boolean;
  /** The linked branch came to the end of its lease while the operator could renew that. */
  ranOut: string | undefined;
  /** The object went while its spec declared Retain. */
  isRetained: boolean;
}

/** What happens to one step of the operator. */
export interface Step {
  fate: Fate;
  lags: boolean;
  /** A person deletes the object before the status is stored, which then is not. */
  isDeletedMeanwhile?: boolean;
  /** The API server refuses the status. */
  isStatusRefused?: boolean;
  /** No list is new enough yet, as right after a write. */
  isUnseen?: boolean;
}

export const calm: Step = { fate: "answered", lags: false };

/** Switches guards of the operator off, from outside. */
export interface Parts {
  planned?: (observed: Observation, memory: BranchMemory) => Observation;
  stepped?: (memory: BranchMemory, before: BranchMemory) => void;
  stored?: (object: Branch) => Branch;
}

export function begun({ showsResets, expiry }: { showsResets: boolean; expiry: object }): State {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const parsed = parseBranch({
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "Branch",
    metadata: { name: "pr", namespace: "shop", uid, resourceVersion: "", generation: 1 },
    spec: { projectID: "shop", expiry },
    status: { observedGeneration: -1 },
  });
  if (!parsed.ok) throw new Error(parsed.problem);
  const service = newService(showsResets);
  return {
    now,
    object: parsed.value,
    memory: newMemory(now, now, false),
    service,
    before: service.branches,
    resetsAsked: 0,
    createsAsked: 1,
    linked: [],
    wasWiped: false,
    ranOut: undefined,
    isRetained: false,
  };
}

/** One reconcile, and the time until the next one. */
export async function reconciled(
  from: State,
  { fate, lags, isDeletedMeanwhile = false, isStatusRefused = false, isUnseen = false }: Step,
  parts: Parts = {},
): Promise<State> {
  const state = structuredClone(from);
  const { object, memory, service } = state;
  if (object === undefined) return state;
  const shownBefore = service.branches;
  const clock = clockOf(state);
  const client = clientTo(service, clock, fate);
  begin(memory, object, state.now);
  const memoryBefore = structuredClone(memory);
  const real = observationOf(state, lags ? state.before : service.branches, client.fingerprint);
  const observed = isUnseen ? unobserved(real) : (parts.planned?.(real, memory) ?? real);
  if (observed.kind === "observed") noteList(memory, observed);
  const action = planBranch(observed, memory);
  const stop = parts.planned === undefined ? guard(action, observed) : undefined;
  if (stop !== undefined) throw new Error(stop.message);
  const cluster = new InMemoryPatcher(object);
  const done = await execute(action, {
    object: await restoreFinalizer(object, cluster),
    memory,
    cluster,
    clock,
    signal: new AbortController().signal,
    fleet: undefined,
    access: accessOver(client),
    uninstalling: () => Promise.resolve(false),
    ownsStill: () => Promise.resolve(true),
    compute: () => Promise.resolve(),
  });
  const isStored = !isDeletedMeanwhile && !isStatusRefused;
  const status = isStored ? nextStatus(done, observed, memory, state.now) : undefined;
  const stored = status === undefined ? done.object : { ...done.object, status };
  state.object = done.condition.kind === "released" ? undefined : (parts.stored?.(stored) ?? stored);
  state.isRetained = state.object === undefined && object.spec.deletionPolicy === "Retain";
  if (isDeletedMeanwhile) deleted(state);
  const { branchID } = state.object?.status ?? {};
  if (branchID !== undefined && !state.linked.includes(branchID)) state.linked.push(branchID);
  parts.stepped?.(memory, memoryBefore);
  const held = heldByLease(state);
  passed(state, requeueOf(done));
  if (held !== heldByLease(state)) state.ranOut ??= held;
  state.before = shownBefore;
  return state;
}

/** A person deletes the object. */
export function deleted({ object, now }: State): void {
  if (object === undefined) return;
  object.metadata.deletionTimestamp ??= new Date(now).toISOString();
}

/** Lets time pass: no more than ten seconds lie between what a list that lags shows and now. */
export function passed(state: State, ms: number): void {
  state.now += ms;
  pass(state.service, state.now);
}

/** The linked branch of a Branch with a lease that is not being deleted. */
function heldByLease({ object, service }: State): string | undefined {
  if (object === undefined || !("lease" in object.spec.expiry)) return undefined;
  if (object.metadata.deletionTimestamp !== undefined) return undefined;
  return service.branches.find(({ id }) => id === object.status.branchID)?.id;
}

/** Repeated looks come ever later: three seconds stand for all of them but the seldom ones. */
function requeueOf({ requeue, condition }: Outcome): number {
  if (requeue.kind === "now") return 500;
  if (requeue.kind === "after") return Math.min(9000, Math.max(500, requeue.ms));
  const isSeldom = condition.kind === "shown" && ["refresh", "slow"].includes(branchReasons[condition.reason].requeue);
  return isSeldom ? 9000 : 3000;
}

function observationOf(state: State, branches: readonly ListedBranch[], fingerprint: string): Observation {
  const { now, object } = state;
  if (object === undefined) throw new Error("the object is gone");
  const listing = new BranchListing(branches, now);
  const id = linkedID(object);
  return {
    kind: "observed",
    object,
    now,
    createSettleMs: settleMs,
    fleet: undefined,
    others: [],
    lives: () => false,
    usedBy: [],
    compute: { step: undefined, isTaken: false },
    listing,
    serviceNow: now,
    fingerprint,
    linked: findLinked(object, listing),
    resetting: undefined,
    missing: id !== undefined && listing.byID(id) === undefined ? id : undefined,
  };
}

function unobserved({ object, now, createSettleMs, fleet, others, lives, usedBy, compute }: Observation): Unobserved {
  const subject = { object, now, createSettleMs, fleet, others, lives, usedBy, compute };
  return { ...subject, kind: "unobserved", why: { kind: "pending" } };
}

function clockOf(state: State): Clock {
  return { now: () => state.now, monotonic: () => state.now, after: () => () => {} };
}

const account = { baseURL: "https://service.test/api/v2", key: new ApiKey("key") };

function clientTo(service: ServiceState, clock: Clock, fate: Fate): ServiceClient {
  const transport = transportTo(service, () => clock.now(), fate, uid);
  const budget = new RequestBudget(clock, { perMinute: 60_000, burst: 1000 });
  return new ServiceClient({ account, transport, budget, clock, beforeWrite: () => {} });
}

function accessOver(client: ServiceClient) {
  const lister = {
    listing: undefined,
    observed: undefined,
    underWay: new Set<string>(),
    wrote: () => 0,
    answered: () => 0,
    operations: { follow: () => {} },
  };
  const reservation = { tryTake: () => true, waitMs: 0, closedForMs: 0 };
  const gate = { pass: () => undefined, answered: () => {}, waitsAgain: false };
  return { lister, client, reservation, gate };
}

/** The branches that bear the object's uid. */
export function ownIn({ service }: State): ListedBranch[] {
  return service.branches.filter(({ note }) => note?.["compute-operator.dev/uid"] === uid);
}

export function nameIn({ object }: State): string {
  return object === undefined ? "" : branchNameOf(object);
}

export function hasFinalizer({ object }: State): boolean {
  return object?.metadata.finalizers?.includes(finalizers.branch) === true;
}
