import type { Endpoint } from "../../api/endpoint.ts";
import { provedIn } from "../claims/ownership.ts";
import { requeueDelay } from "../conditions/rows.ts";
import type { AnsweredReset, Turn } from "../connection-secret/rotation.ts";
import type { FailedWrite } from "../life/back-off.ts";
import { begun } from "../life/begin.ts";
import type { Due } from "../life/due.ts";
import { absenceAfter } from "../life/gone.ts";
import { closed } from "../life/record.ts";
import { generationOf } from "../objects/object.ts";
import { branchIDOf, type Compute } from "../resources/compute.ts";
import { heldUntil } from "./held.ts";
import type {
  AnsweredDelete,
  ComputeMemory,
  ReadonlyState,
  RememberedPassword,
  RememberedWrite,
  Signed,
} from "./memory.ts";
import { acceptedAfter, answersCountAfter, rememberedSince, withDelete } from "./memory.ts";
import type { Annotations } from "./observe/annotations.ts";
import { type Observation } from "./observe/observation.ts";
import type { Outcome } from "./outcome.ts";
import type { PatchAction } from "./plan/action.ts";
import { patchedAfter } from "./plan/after-patch.ts";
import { afterList, afterSight } from "./record.ts";
import type { Reason } from "./words/reasons.ts";

/**
 * Memory of this term of leadership about one Compute, by uid. All of it may be lost at any time without harm. Others
 * read it as `known`; only these methods change it. They set what is over to `undefined`: V8 keeps an object from which
 * properties were deleted as a hash table, which takes several times the memory.
 */
export class ReconcileState {
  /** Names the term in the records that it writes. */
  readonly term: string;
  readonly #known: ComputeMemory;

  constructor(now: number, term: string, known: Partial<ComputeMemory> = {}) {
    this.term = term;
    this.#known = { ...rememberedSince(now), ...known };
  }

  get known(): ReadonlyState {
    return this.#known;
  }

  /** The Compute came under this process's selector then. */
  entered(at: number): void {
    this.#known.enteredAt = at;
    this.#known.lists = { ...this.#known.lists, firstCreateAfter: at };
  }

  /** A write has ended, or an event may have been missed: only lists that begin after this count. */
  needListAfter(at: number): void {
    this.#known.lists = { ...this.#known.lists, countAfter: at };
  }

  /** A write has ended whose answer is laid over lists; steps that need a list need one from after that. */
  answerLaidOver(at: number): void {
    const { lists, seenSince } = this.#known;
    // A list that was new enough for the first create is new enough for the steps that follow it.
    const before = lists.countAfter <= seenSince ? lists.firstCreateAfter : answersCountAfter(this.#known);
    this.#known.lists = { ...lists, countAfter: Math.max(lists.countAfter, at), laidOver: { at, before } };
  }

  /** A version of the Compute is known, with or without a list: its record counts from now on. */
  noteVersion(compute: Compute, now: number): void {
    const { write, isSeen, proved } = this.#known;
    const unproved = compute.status.proof === undefined ? proved : undefined;
    this.#known.write = afterSight(write, compute, { now, isFirst: isSeen !== true, unproved });
    this.#known.isSeen = true;
    this.#known.proved = provedIn(compute);
    if (compute.status.disabledByUs !== true) this.#known.disableNotedAt = undefined;
    else this.#known.disableNotedAt ??= now;
  }

  /** Begins a reconcile. `isListed`: a list is expected anyway, or has come in with what the requeue is for. */
  begin({ reconcileRequested, reconcileRequestedAt }: Annotations, isListed: boolean, now: number): void {
    const known = this.#known;
    const { requeue, lists, asked, failedWrite } = known;
    const before = { requeue, listsAfter: lists.countAfter, asked, failed: failedWrite };
    const after = begun(before, { asks: reconcileRequested ? reconcileRequestedAt : undefined, isListed }, now);
    if (after === before) return;
    known.requeue = after.requeue;
    known.asked = after.asked;
    known.failedWrite = after.failed;
    if (after.listsAfter !== before.listsAfter) this.needListAfter(after.listsAfter);
  }

  /** Takes in a list: how long something has been missing, and whether a change has taken effect. */
  listed(o: Observation): void {
    const known = this.#known;
    const { missing } = o.links;
    if (known.write !== undefined) known.write = afterList(known.write, o);
    if (known.deletes.size > 0) {
      const kept = [...known.deletes].filter(([id, { accepted }]) => accepted || o.endpoints.byID(id) !== undefined);
      known.deletes = new Map(kept);
    }
    known.missing = absenceAfter(known.missing, missing, o.startedAt);
    if (known.patched !== undefined) known.patched = patchedAfter(known.patched, o);
  }

  /** A write was accepted, or none is needed: an earlier failure no longer counts. */
  succeeded(): void {
    this.#known.failedWrite = undefined;
  }

  /** The same write is not repeated for `waitMs`. */
  failed(failure: Omit<FailedWrite<Reason>, "until">, waitMs: number, now: number): void {
    this.#known.failedWrite = { ...failure, until: now + waitMs };
  }

  /** Changes the memory of the record: it is written, sent, answered, linked or over. */
  changeWrite(change: (write: RememberedWrite | undefined) => RememberedWrite | undefined): void {
    this.#known.write = change(this.#known.write);
  }

  /** The service made this endpoint for the Compute. */
  created(endpointID: string, compute: Compute, entry?: string): void {
    this.succeeded();
    this.#known.accepted = { endpointID, generation: generationOf(compute), drift: [], entry };
  }

  /** An endpoint is taken over: the service has accepted nothing for it yet. */
  tookOver(): void {
    this.#known.accepted = undefined;
  }

  /** The service accepted this PATCH. */
  patched(action: PatchAction, compute: Compute, now: number): void {
    const { endpointID, fields, corrects, drift: reported, entry = "", waiting } = action;
    const known = this.#known;
    const generation = generationOf(compute);
    this.succeeded();
    const tries = known.patched?.generation === generation ? known.patched.tries + 1 : 0;
    known.patched = { generation, branchID: branchIDOf(compute), entry, fields, listsWithout: [], at: now, tries };
    const drift = reported ?? compute.status.drift ?? known.accepted?.drift ?? [];
    known.accepted = { endpointID, generation, drift, entry, waiting };
    if (corrects.length > 0) known.corrections = [...known.corrections, { generation, at: now }].slice(-10);
  }

  /** A write that cuts connections is under way (infinite), its request has ended then, or it is over. */
  cuts(at: number | undefined): void {
    this.#known.cutAt = at;
  }

  /** A request that sets `disabled` has ended: until the settle time has passed, lists may show what was before. */
  disableSent(now: number): void {
    this.#known.disableNotedAt = now;
  }

  /** The edit of this generation asks for a list that shows whether the compute is idle. */
  askedWhetherIdle(generation: number): void {
    this.#known.idleAsked = generation;
  }

  /** Our signature was sent for an endpoint. */
  signed(signed: Signed): void {
    this.#known.signed = signed;
  }

  /** A warning names these endpoints of a former Compute. */
  warnedOf(formers: readonly string[]): void {
    this.#known.told = { ...this.#known.told, formers };
  }

  /** The restart that this value of `restartedAt` asks for is carried out. */
  restarted(value: string): void {
    this.#known.handled = { ...this.#known.handled, restartedAt: value };
    if (this.#known.write?.record.operation === "restart") this.#close();
  }

  /** A reset is about to leave, or has ended without an answer: the password in the Secret may not hold any more. */
  passwordDoubted(isUnanswered = false): void {
    this.#known.password = { state: "doubted", isUnanswered };
  }

  /** A reset was definitely not carried out. */
  passwordKept(before: RememberedPassword | undefined): void {
    this.#known.password = before;
  }

  /** The service accepted a reset. */
  passwordReset(reset: AnsweredReset): void {
    this.#known.password = { state: "doubted", reset };
  }

  /** The Secret holds what the service shows; false: the service shows no password. `turn`: a reset of it is over. */
  passwordRead(isStored: boolean, turn: Turn | undefined): void {
    const { isUnanswered = false } = this.#known.password ?? {};
    if (turn?.reset !== undefined) this.#known.rotated = { request: turn.reset.request, at: turn.now };
    this.#known.password = isStored ? { state: "known" } : { state: "unstored", isUnanswered };
  }

  /** The service answered a DELETE with success or 404; returns whether it did so before. `accepted`: the Compute's. */
  deleteAnswered(endpointID: string, accepted: boolean, now: number): boolean {
    this.succeeded();
    const earlier = this.#known.deletes.get(endpointID);
    const before = earlier === undefined ? 0 : earlier.before + 1;
    this.#delete(endpointID, { at: now, before, accepted: accepted || earlier?.accepted === true, proved: false });
    return earlier !== undefined;
  }

  /** The endpoint's own GET was 404, after a DELETE of ours or because lists lack it. */
  provedGone(endpointID: string, after: "lost" | "deleted"): void {
    const known = this.#known;
    if (after === "deleted") {
      this.#delete(endpointID, { proved: true });
      // The endpoint existed, so the request that made it can make nothing more.
      if (known.write?.made === endpointID) this.#close();
    } else if (known.missing?.id === endpointID) known.missing = { ...known.missing, proved: true };
  }

  /** The endpoint's own GET shows it although lists lack it; returns when it is asked for again at the earliest. */
  stillThere(endpointID: string, after: "lost" | "deleted", now: number): number {
    const before = (after === "deleted" ? this.#known.deletes.get(endpointID) : this.#known.missing)?.shown ?? 0;
    const delayMs = requeueDelay(after === "deleted" ? "backoff" : "patient", before);
    const shown = { proved: false, shown: before + 1 };
    if (after === "deleted") this.#delete(endpointID, shown);
    this.#known.missing = after === "deleted" ? undefined : { ...shown, id: endpointID, since: now + delayMs };
    this.needListAfter(now);
    return delayMs;
  }

  /** The record is closed. */
  #close(): void {
    this.changeWrite((write) => write && closed(write));
  }

  #delete(endpointID: string, change: Partial<AnsweredDelete>): void {
    this.#known.deletes = withDelete(this.#known.deletes, endpointID, change);
  }

  /** The status says this after a reconcile with this effect. */
  reported(status: Compute["status"], effect: Pick<Outcome["effect"], "kind">): void {
    this.#known.accepted = acceptedAfter(this.#known.accepted, status, effect);
  }

  /** An event reported a write. */
  announced(now: number): void {
    this.#known.told = { ...this.#known.told, writeAt: now };
  }

  /** Time at which the result of the write under way is expected; `undefined`: nobody knows, or none `isBusy`. */
  expectResult(resultAt: number | undefined, wasBusy: boolean): void {
    this.#known.requeue = { ...this.#known.requeue, resultAt, wasBusy };
  }

  /** Time from which a list may end something that only time ends; `undefined`: no list does. */
  fallsDue(timedAt: number | undefined): void {
    this.#known.requeue = { ...this.#known.requeue, timedAt };
  }

  /** Holds a status back, unless it waited long enough; returns whether it waits. `isNew`: of a write just accepted. */
  hold(outcome: Outcome, news: { isNew: boolean; endpoint?: Endpoint | undefined }, now: number): boolean {
    const { compute, condition, effect } = outcome;
    const dueAt = heldUntil(this.#known, { compute, isNew: news.isNew }, now);
    if (now >= dueAt) return false;
    const toShow = effect.kind === "accepted" ? { ...effect, endpoint: news.endpoint } : effect;
    this.#known.held = { generation: generationOf(compute), condition, effect: toShow, dueAt };
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

  /** Unreadable fields were reported; `undefined`: all can be read. */
  reportedUnreadable(message: string | undefined): void {
    this.#known.told = { ...this.#known.told, unreadable: message };
  }

  /** Our finalizer is about to be removed, or was not. */
  releasing(released: boolean): void {
    this.#known.released = released;
  }

  get requeue(): Due {
    return this.#known.requeue;
  }

  set requeue(due: Due) {
    this.#known.requeue = due;
  }
}
