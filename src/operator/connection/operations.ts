import { type Operation, operationOutcome } from "../../api/operation.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";
import type { Failure } from "../service-client/answer.ts";
import { operationsListed, type ServiceClient } from "../service-client/client.ts";
import type { Priority } from "../service-client/priority-queue.ts";

/** What is known of an endpoint's latest operations; `untold`: the service does not show them. */
export type Latest =
  | { kind: "told"; operations: readonly Operation[] }
  | { kind: "untold" }
  | { kind: "failed"; failure: Failure };

/** Polls of followed operations: the first after `firstMs`, each later one `factor` times later, `mostMs` at most. */
const polling = { firstMs: 300, factor: 1.5, mostMs: 5000 } as const;

/** After this long without news an operation no longer counts as blocking its project, in milliseconds. */
const staleAfterMs = 60_000;

/** After this long in progress one no longer counts as blocking either: where it does, the service says so (423). */
const blocksForMs = 600_000;

/** A service that refuses the call is asked again after this long, in milliseconds: a right may have been missing. */
const refusedForMs = 600_000;

/** How many operations are remembered per project, and of how many that were given up at least their ids. */
const mostRemembered = 1000;

export interface OperationsOptions {
  /** For polls, which no reconcile waits for. */
  client: ServiceClient;
  /** What a poll is for just now. */
  priority: () => Priority;
  projectID: string;
  clock: Clock;
  signal: AbortSignal;
  /** An operation of this endpoint changed; `undefined`: none blocks the project any more. */
  onChange: (endpointID: string | undefined) => void;
  /** An operation that was followed is over. */
  onEnded?: ((operation: Operation) => void) | undefined;
}

/**
 * Follows the operations that the operator's own writes set off, from their start until they are over, with one list
 * call per poll for the whole project. A service without the call leaves everything to the endpoints' states.
 */
export class Operations {
  readonly #options: OperationsOptions;
  readonly #known = new Map<string, { operation: Operation; since: number; heardAt: number }>();
  /** Of which nothing was heard for long: a status may remember them still. */
  readonly #givenUp = new Set<string>();
  #timer: Cancel | undefined;
  #stopped = false;
  #polling = false;
  /** Whether the project was locked when that was last told. */
  #wasBusy = false;
  #delayMs: number = polling.firstMs;
  /** Once the service has answered the call it does not lack it: whatever it says to one is no more than a failure. */
  #hasAnswered = false;
  #refusedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  /** Those of an endpoint that are known, newest first. */
  of(endpointID: string): Operation[] {
    return [...this.#known.values()]
      .map(({ operation }) => operation)
      .filter((operation) => operation.endpoint_id === endpointID)
      .toSorted(newestFirst);
  }

  /** Whether an operation that we follow is in progress: the project is then locked for other writes. */
  get busy(): boolean {
    const now = this.#options.clock.monotonic();
    return this.#inProgress().some(({ since, heardAt }) => now - heardAt < staleAfterMs && now - since < blocksForMs);
  }

  /** Whether an operation of this endpoint that we follow is in progress. */
  isBusyWith(endpointID: string): boolean {
    return this.#inProgress().some(({ operation }) => operation.endpoint_id === endpointID);
  }

  /** Starts to follow operations, or goes on with those that a status remembers. */
  follow(operations: readonly Operation[]): void {
    let begun = false;
    for (const operation of operations) {
      if (this.#known.has(operation.id) || this.#givenUp.has(operation.id)) continue;
      const now = this.#options.clock.monotonic();
      this.#known.set(operation.id, { operation, since: now, heardAt: now });
      begun ||= operationOutcome(operation.status) === "in-progress";
    }
    this.#forgetOldest();
    // One that is over is no reason to put the next poll off: of a large fleet some pass tells of such all the time.
    if (!begun) return;
    if (!this.#supported) this.#dropInProgress();
    this.#wasBusy = this.busy;
    this.#delayMs = polling.firstMs;
    this.#schedule();
  }

  /** An endpoint's latest operations, read anew, also those that are not ours. */
  async latest(endpointID: string, client: ServiceClient): Promise<Latest> {
    const { projectID, signal } = this.#options;
    if (!this.#supported) return { kind: "untold" };
    const answer = await client.listOperations(projectID, signal);
    if (answer.kind !== "ok") return this.#isNoCall(answer) ? { kind: "untold" } : { kind: "failed", failure: answer };
    this.#hasAnswered = true;
    const operations = answer.value.filter(({ endpoint_id }) => endpoint_id === endpointID);
    // Of a busy project the newest may hold none of it, though it has some.
    const cutShort = operations.length === 0 && answer.value.length >= operationsListed;
    return cutShort ? { kind: "untold" } : { kind: "told", operations };
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
    this.#options.client.leave(this);
  }

  get #supported(): boolean {
    return this.#options.clock.monotonic() >= this.#refusedUntil;
  }

  /** Whether the service has no such call, or not for this key. */
  #isNoCall({ kind }: Failure): boolean {
    return !this.#hasAnswered && (kind === "notFound" || kind === "refused" || kind === "forbidden");
  }

  #inProgress() {
    return [...this.#known.values()].filter(({ operation }) => operationOutcome(operation.status) === "in-progress");
  }

  #schedule(): void {
    this.#timer?.();
    this.#timer = undefined;
    const { signal } = this.#options;
    if (this.#stopped || !this.#supported || signal.aborted || this.#inProgress().length === 0) return;
    this.#timer = this.#options.clock.after(this.#delayMs, () => this.#due());
    this.#delayMs = Math.min(polling.mostMs, this.#delayMs * polling.factor);
  }

  /** A poll is due: it begins as soon as the request budget has room. */
  #due(): void {
    this.#timer = undefined;
    const { client, priority } = this.#options;
    if (this.#stopped || this.#polling || this.#inProgress().length === 0) {
      client.leave(this);
      return;
    }
    const reservation = client.reservation(this, () => this.#due());
    if (reservation.tryTake(priority())) void this.#poll(client.within(reservation));
  }

  async #poll(client: ServiceClient): Promise<void> {
    const { projectID, signal, onChange } = this.#options;
    this.#polling = true;
    try {
      const answer = await client.listOperations(projectID, signal);
      if (answer.kind === "ok") this.#hasAnswered = true;
      else if (this.#isNoCall(answer)) {
        // What is in progress shows in the endpoints' states alone.
        this.#refusedUntil = this.#options.clock.monotonic() + refusedForMs;
        this.#dropInProgress();
        onChange(undefined);
        return;
      }
      const heard = answer.kind === "ok" ? answer.value : [];
      for (const endpointID of this.#hear(new Map(heard.map((one) => [one.id, one])))) onChange(endpointID);
    } catch {
      // Called off: the process is stopping, or may no longer send.
    } finally {
      this.#polling = false;
    }
    this.#schedule();
  }

  /** Takes over what a list shows; answers with the endpoints concerned. */
  #hear(heard: ReadonlyMap<string, Operation>): Set<string | undefined> {
    const now = this.#options.clock.monotonic();
    const changed = new Set<string | undefined>();
    for (const { operation, since, heardAt } of this.#inProgress()) {
      const news = heard.get(operation.id);
      if (news === undefined) {
        // Not in the list: too old for it, or not there yet. It is dropped when nothing is heard for long.
        if (now - heardAt < staleAfterMs) continue;
        this.#known.delete(operation.id);
        this.#giveUp(operation.id);
        changed.add(operation.endpoint_id);
        continue;
      }
      this.#known.set(news.id, { operation: { ...operation, ...news }, since, heardAt: now });
      if (operationOutcome(news.status) !== "in-progress") this.#options.onEnded?.(news);
      if (news.status !== operation.status || news.failures_count !== operation.failures_count) {
        changed.add(operation.endpoint_id);
      }
    }
    if (this.#wasBusy && !this.busy) changed.add(undefined);
    this.#wasBusy = this.busy;
    return changed;
  }

  #dropInProgress(): void {
    for (const { operation } of this.#inProgress()) {
      this.#known.delete(operation.id);
      this.#giveUp(operation.id);
    }
  }

  #giveUp(id: string): void {
    this.#givenUp.add(id);
    const [oldest] = this.#givenUp;
    if (this.#givenUp.size > mostRemembered && oldest !== undefined) this.#givenUp.delete(oldest);
  }

  #forgetOldest(): void {
    for (const [id, { operation }] of this.#known) {
      if (this.#known.size <= mostRemembered) return;
      if (operationOutcome(operation.status) !== "in-progress") this.#known.delete(id);
    }
  }
}

function newestFirst(a: Operation, b: Operation): number {
  return (b.created_at ?? "").localeCompare(a.created_at ?? "") || b.id.localeCompare(a.id);
}
