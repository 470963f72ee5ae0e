import type { Endpoint } from "../../api/endpoint.ts";
import { isInProgress } from "../../api/operation.ts";
import { branchIDOf, type Compute } from "../resources/compute.ts";
import type { Annotations, PendingCreate } from "./observe/annotations.ts";
import { generationOf, hasFinalizer, type Observation } from "./observe/observation.ts";
import { hasArrived } from "./observe/ownership.ts";
import type { Outcome } from "./outcome.ts";
import type { PatchAction } from "./plan/action.ts";
import { compare, desiredSpec } from "./plan/fields.ts";
import type { FailedWrite, ReadonlyState, Remembered, Signed } from "./remembered.ts";
import { answersCountAfter, rememberedSince, signedBefore } from "./remembered.ts";
import { nextRequeue } from "./requeue.ts";
import { heldUntil } from "./status/held.ts";
import { requeueDelay } from "./status/reasons.ts";

/** A Compute that is to be enqueued by what it waits for is reconciled after this long even so, in milliseconds. */
const enqueuedFallbackMs = 600_000;

/**
 * What this process remembers of one Compute, by uid. All of it may be lost at any time without harm. Others read it as
 * `known`; only these methods change it. They set what is over to `undefined`: V8 keeps an object from which properties
 * were deleted as a hash table, which takes several times the memory.
 */
export class ReconcileState {
  readonly #known: Remembered;

  constructor(now: number, known: Partial<Remembered> = {}) {
    this.#known = { ...rememberedSince(now), ...known };
  }

  get known(): ReadonlyState {
    return this.#known;
  }

  /** The Compute came under this process's selector then. */
  entered(at: number): void {
    this.#known.enteredAt = at;
    this.#known.firstListAfter = at;
  }

  /** A write has ended, or an event may have been missed: only lists that begin after this count. */
  needListAfter(at: number): void {
    this.#known.listsCountAfter = at;
  }

  /** A write has ended whose answer is laid over lists; steps that need a list need one from after that. */
  answerLaidOver(at: number): void {
    const { listsCountAfter, seenSince, firstListAfter } = this.#known;
    // What was new enough for the first create is new enough for what follows it.
    const before = listsCountAfter <= seenSince ? firstListAfter : answersCountAfter(this.#known);
    this.#known.laidOver = { at, before };
    this.#known.listsCountAfter = Math.max(listsCountAfter, at);
  }

  /** A version of the Compute is known: its pending create counts from now on, also if a client drops it. */
  saw({ pendingCreate: mark }: Annotations, now: number): void {
    if (mark === undefined) return;
    const { pendingCreate } = this.#known;
    const earlier = pendingCreate?.since === mark.since ? pendingCreate : { since: mark.since, seenAt: now };
    this.#known.pendingCreate = { ...earlier, mark };
  }

  /**
   * A reconcile that a person requested needs a list from after that, and so does a requeue that is due, unless it
   * `isListed`: a list is expected anyway, or has come in with what the requeue is for.
   */
  begin({ reconcileRequested, reconcileRequestedAt }: Annotations, isListed: boolean, now: number): void {
    const known = this.#known;
    const { dueAt } = known.requeue;
    if (dueAt !== undefined && now >= dueAt) {
      if (!isListed) known.listsCountAfter = Math.max(known.listsCountAfter, dueAt);
      known.requeue = { ...known.requeue, dueAt: undefined };
    }
    if (reconcileRequested && known.handledReconcileRequest !== reconcileRequestedAt) {
      known.handledReconcileRequest = reconcileRequestedAt;
      known.listsCountAfter = now;
      known.failedWrite = undefined;
    }
  }

  /** What a list newly shows: how long something has been missing, and whether a change has taken effect. */
  listed(o: Observation): void {
    const known = this.#known;
    const { link, missing } = o.links;
    if (link !== undefined && link.proof !== "none") {
      known.proved = { endpointID: link.endpoint.id, proof: link.proof };
    }
    const isListed = link !== undefined && o.laidOver !== true;
    if (isListed && link.endpoint.id === known.created?.endpointID) known.created = undefined;
    if (known.answeredDeletes.size > 0) {
      const listed = [...known.answeredDeletes].filter(([id]) => o.endpoints.byID(id) !== undefined);
      known.answeredDeletes = new Map(listed);
    }
    if (missing === undefined) known.missing = undefined;
    else if (known.missing?.endpointID !== missing) {
      known.missing = { endpointID: missing, firstListWithout: o.startedAt, proved: false };
    }
    if ((o.compute.status.unansweredDisables ?? 0) === 0) known.unansweredDisableSince = undefined;
    else known.unansweredDisableSince ??= o.now;
    if (link?.endpoint.disabled === true) known.disabledAt = o.now;
    this.#listedForCreate(o);
    this.#listedForPatch(o);
  }

  #listedForCreate({ compute, annotations, links, startedAt, now }: Observation): void {
    const { pendingCreate: current } = annotations;
    // Dropped together with our finalizer, as by kubectl replace, it is restored; a person removes it alone.
    const mark = current ?? (hasFinalizer(compute) ? undefined : this.#known.pendingCreate?.mark);
    if (mark === undefined || (links.link !== undefined && hasArrived(mark, links.link.proof))) {
      this.#known.pendingCreate = undefined;
    } else if (current !== undefined) {
      this.saw(annotations, now);
      const { pendingCreate } = this.#known;
      if (pendingCreate !== undefined) this.#known.pendingCreate = { firstListWithout: startedAt, ...pendingCreate };
    }
  }

  #listedForPatch({ compute, links, operations, startedAt, laidOver, operationsEndedAt }: Observation): void {
    const { patched } = this.#known;
    if (patched === undefined) return;
    const isOutdated = patched.generation !== generationOf(compute) || patched.branchID !== branchIDOf(compute);
    if (isOutdated || links.link === undefined) {
      this.#known.patched = undefined;
      return;
    }
    // While the change is being applied, a list without it proves nothing.
    const { endpoint } = links.link;
    if (laidOver === true || endpoint.pending_state !== undefined || operations.some(isInProgress)) return;
    const { differences } = compare(desiredSpec(compute), endpoint);
    if (!differences.some(({ field }) => patched.fields.includes(field))) this.#known.patched = undefined;
    else if (startedAt > (operationsEndedAt ?? -1) && !patched.listsWithout.includes(startedAt)) {
      this.#known.patched = { ...patched, listsWithout: [...patched.listsWithout.slice(0, 1), startedAt] };
    }
  }

  /** A write was accepted, or none is needed: an earlier failure no longer counts. */
  succeeded(): void {
    this.#known.failedWrite = undefined;
  }

  /** The same write is not repeated for `waitMs`. */
  failed(failure: Omit<FailedWrite, "until">, waitMs: number, now: number): void {
    this.#known.failedWrite = { ...failure, until: now + waitMs };
  }

  /** The service answered a POST with this endpoint; `resent`: an earlier one may still take effect. */
  created(endpointID: string, proof: "marker" | "created", { metadata }: Compute, resent: boolean, now: number): void {
    const { generation = 0 } = metadata;
    this.succeeded();
    this.#known.proved = { endpointID, proof };
    this.#known.applied = { generation, drift: [] };
    this.#known.accepted = { endpointID, generation };
    this.#known.created = { endpointID, at: now };
    if (!resent) this.#known.pendingCreate = undefined;
  }

  /** The mark of a create is about to be written; `undefined`: a POST or another patch follows it. */
  createMarked(posts: number | undefined): void {
    this.#known.unsentPosts = posts;
  }

  /** A POST got no usable answer: the time until another may be sent runs from here. */
  createUnanswered(mark: PendingCreate, now: number): void {
    this.#known.pendingCreate = { since: mark.since, seenAt: now, mark };
  }

  /** An endpoint is taken over: the service has accepted nothing for it yet. */
  tookOver(): void {
    this.#known.accepted = undefined;
  }

  /** The service accepted this PATCH. */
  patched({ endpointID, fields, attributes, corrects }: PatchAction, compute: Compute, now: number): void {
    const known = this.#known;
    const generation = generationOf(compute);
    this.succeeded();
    const tries = known.patched?.generation === generation ? known.patched.tries + 1 : 0;
    known.patched = { generation, branchID: branchIDOf(compute), fields, listsWithout: [], at: now, tries };
    known.accepted = { endpointID, generation };
    known.applied = { generation, drift: compute.status.drift ?? known.applied?.drift ?? [] };
    if (attributes.disabled !== undefined) known.disabledAt = attributes.disabled ? now : Number.NEGATIVE_INFINITY;
    if (corrects.length > 0) known.corrections = [...known.corrections, { generation, at: now }].slice(-10);
  }

  /** Our signature was sent for an endpoint. */
  signed(signed: Omit<Signed, "before">): void {
    this.#known.signed = { ...signed, before: signedBefore(this.#known, signed.endpointID) };
  }

  /** A warning names these endpoints of a former Compute. */
  warnedOf(endpointIDs: readonly string[]): void {
    this.#known.warnedOf = endpointIDs;
  }

  /** A PATCH that disables the endpoint got no usable answer. */
  disableUnanswered(now: number): void {
    this.#known.unansweredDisableSince = now;
  }

  /** The restart that this value of `restartedAt` asks for is carried out. */
  restarted(value: string): void {
    this.#known.restarted = value;
  }

  /** The service answered a DELETE with success or 404; returns whether it did so before. */
  deleteAnswered(endpointID: string, now: number): boolean {
    this.succeeded();
    const earlier = this.#known.answeredDeletes.get(endpointID);
    const answer = { at: now, before: earlier === undefined ? 0 : earlier.before + 1 };
    this.#known.answeredDeletes = new Map(this.#known.answeredDeletes).set(endpointID, answer);
    return earlier !== undefined;
  }

  /** The service accepted the DELETE of the Compute's endpoint. */
  deleted(endpointID: string): void {
    this.#known.deleted = { endpointID, proved: false };
  }

  /** The endpoint's own GET was 404, after a DELETE of ours or because lists lack it. */
  provedGone(endpointID: string, after: "lost" | "deleted"): void {
    const known = this.#known;
    if (after === "deleted") known.deleted = { endpointID, proved: true };
    else if (known.missing?.endpointID === endpointID) known.missing = { ...known.missing, proved: true };
    if (known.proved?.endpointID === endpointID) known.proved = undefined;
  }

  /** The endpoint's own GET shows it although lists lack it; returns when it is asked for again at the earliest. */
  stillThere(endpointID: string, after: "lost" | "deleted", now: number): number {
    const known = this.#known;
    const before = (after === "deleted" ? known.deleted : known.missing)?.shown ?? 0;
    const delayMs = requeueDelay(after === "deleted" ? "backoff" : "patient", before);
    const shown = { endpointID, proved: false, shown: before + 1 };
    if (after === "deleted") known.deleted = shown;
    known.missing = after === "deleted" ? undefined : { ...shown, firstListWithout: now + delayMs };
    known.listsCountAfter = now;
    return delayMs;
  }

  /** When the service is asked again whether the connection Secret is still valid; `undefined`: nothing can change. */
  readSecretAt(at: number | undefined): void {
    this.#known.secretDueAt = at;
  }

  /** The status says this now. */
  reported({ appliedGeneration, drift = [] }: Compute["status"]): void {
    if (appliedGeneration !== undefined) this.#known.applied = { generation: appliedGeneration, drift };
  }

  /** An event reported a write. */
  announced(now: number): void {
    this.#known.announcedAt = now;
  }

  /** When the result of the write under way is expected to be seen; `undefined`: nobody knows, or none `isBusy`. */
  expectResult(at: number | undefined, isBusy: boolean): void {
    this.#known.resultAt = at;
    this.#known.wasBusy = isBusy;
  }

  /** Holds a status back, unless it waited long enough; returns whether it waits. `isNew`: of a write just accepted. */
  hold(outcome: Outcome, news: { isNew: boolean; endpoint?: Endpoint | undefined }, now: number): boolean {
    const { compute, condition, effect } = outcome;
    const dueAt = heldUntil(this.#known, { compute, isNew: news.isNew }, now);
    if (now >= dueAt) return false;
    const lasting = effect.kind === "accepted" ? { ...effect, endpoint: news.endpoint } : effect;
    this.#known.held = { generation: generationOf(compute), condition, effect: lasting, dueAt };
    return true;
  }

  /** Another condition is about to be written: if that fails, the one that is held back is outdated all the same. */
  overtaken(): void {
    if (this.#known.held) this.#known.held.condition = { kind: "unchanged" };
  }

  /** The status was written: it says all that is known. */
  wrote(): void {
    this.#known.held = undefined;
  }

  /** The fields that cannot be read were reported; `undefined`: all can be read. */
  reportedUnreadable(message: string | undefined): void {
    this.#known.unreadable = message;
  }

  released(): void {
    this.#known.released = true;
  }

  /** The milliseconds until the next reconcile; `undefined`: only a change brings it. */
  requeueAfter(outcome: Outcome, now: number): number | undefined {
    if (outcome.condition.kind === "released") return undefined;
    const known = this.#known;
    known.requeue = nextRequeue(outcome, known, now);
    // A reading of the Secret that is overdue waits for what holds it up, and is enqueued by it.
    const readAt = known.secretDueAt !== undefined && known.secretDueAt > now ? [known.secretDueAt] : [];
    const fallback = outcome.requeue.kind === "enqueued" ? now + enqueuedFallbackMs : Number.POSITIVE_INFINITY;
    const next = Math.min(known.requeue.dueAt ?? fallback, ...readAt, known.held?.dueAt ?? Number.POSITIVE_INFINITY);
    return next === Number.POSITIVE_INFINITY ? undefined : Math.max(1, next - now);
  }
}
