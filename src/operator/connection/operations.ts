import { isInProgress, type Operation } from "../../api/operation.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";
import type { Failure } from "../service-client/answer.ts";
import { operationsListed, type ServiceClient } from "../service-client/client.ts";
import type { Priority } from "../service-client/priority-queue.ts";

/** The latest operations of an endpoint; `unsupported`: the service does not show them. */
export type Latest =
  | { kind: "listed"; operations: readonly Operation[] }
  | { kind: "unsupported" }
  | { kind: "failed"; failure: Failure };

/** Delays between polls: the first is `firstMs`, each further one `factor` times longer, up to `mostMs`. */
const polling = { firstMs: 300, factor: 1.5, mostMs: 5000 } as const;

/** An operation without news for this long no longer counts as blocking its project, in milliseconds. */
const staleAfterMs = 60_000;

/** Nor does an operation in progress for this long: if it still blocks, the service answers 423. In milliseconds. */
const blocksForMs = 600_000;

/** A refused call is tried again after this long, in milliseconds: the key may have lacked a right. */
const refusedForMs = 600_000;

/** Maximum number of operations remembered per project, and of ids of operations that were given up. */
const mostRemembered = 1000;

export interface OperationsOptions {
  /** For polls, which no reconcile waits for. */
  client: ServiceClient;
  /** The present priority of polls. */
  priority: () => Priority;
  projectID: string;
  clock: Clock;
  signal: AbortSignal;
  /** An operation of this endpoint changed; `undefined`: no operation blocks the project any more. */
  onChange: (endpointID: string | undefined) => void;
  /** A followed operation has ended. */
  onEnded?: ((operation: Operation) => void) | undefined;
}

/**
 * Follows the operations of the operator's own writes until they end, with one list call per poll for the whole
 * project. If the service lacks the call, only the states of the endpoints show progress.
 */
export class Operations {
  readonly #options: OperationsOptions;
  readonly #known = new Map<string, { operation: Operation; since: number; updatedAt: number }>();
  /** Operations without news for long: a status may still list them. */
  readonly #givenUp = new Set<string>();
  #timer: Cancel | undefined;
  #stopped = false;
  #polling = false;
  /** Whether the project was busy when that was last reported. */
  #wasBusy = false;
  #delayMs: number = polling.firstMs;
  /** The service has answered the call once, so it has the call: any later refusal is only a failure. */
  #hasAnswered = false;
  #refusedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  /** The known operations of an endpoint, newest first. */
  of(endpointID: string): Operation[] {
    return [...this.#known.values()]
      .map(({ operation }) => operation)
      .filter((operation) => operation.endpoint_id === endpointID)
      .toSorted(newestFirst);
  }

  /** Whether a followed operation is in progress: the project is then locked for other writes. */
  get busy(): boolean {
    const now = this.#options.clock.monotonic();
    return this.#inProgress().some(
      ({ since, updatedAt }) => now - updatedAt < staleAfterMs && now - since < blocksForMs,
    );
  }

  /** Whether a followed operation of this endpoint is in progress. */
  isBusyWith(endpointID: string): boolean {
    return this.#inProgress().some(({ operation }) => operation.endpoint_id === endpointID);
  }

  /** Follows these operations, from a write or from a status. */
  follow(operations: readonly Operation[]): void {
    let begun = false;
    for (const operation of operations) {
      if (this.#known.has(operation.id) || this.#givenUp.has(operation.id)) continue;
      const now = this.#options.clock.monotonic();
      this.#known.set(operation.id, { operation, since: now, updatedAt: now });
      begun ||= isInProgress(operation);
    }
    this.#forgetOldest();
    // Ended operations must not postpone the next poll: in a large fleet, reconciles report such all the time.
    if (!begun) return;
    if (!this.#supported) this.#dropInProgress();
    this.#wasBusy = this.busy;
    this.#delayMs = polling.firstMs;
    this.#schedule();
  }

  /** Reads the latest operations of an endpoint, including those of other writers. */
  async latest(endpointID: string, client: ServiceClient): Promise<Latest> {
    const { projectID, signal } = this.#options;
    if (!this.#supported) return { kind: "unsupported" };
    const answer = await client.listOperations(projectID, signal);
    if (answer.kind !== "ok")
      return this.#isNoCall(answer) ? { kind: "unsupported" } : { kind: "failed", failure: answer };
    this.#hasAnswered = true;
    return latestIn(answer.value, endpointID);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.();
    this.#options.client.leave(this);
  }

  get #supported(): boolean {
    return this.#options.clock.monotonic() >= this.#refusedUntil;
  }

  /** Whether the service lacks the call, or refuses it to this key. */
  #isNoCall({ kind }: Failure): boolean {
    return !this.#hasAnswered && (kind === "notFound" || kind === "refused" || kind === "forbidden");
  }

  #inProgress() {
    return [...this.#known.values()].filter(({ operation }) => isInProgress(operation));
  }

  #schedule(): void {
    this.#timer?.();
    this.#timer = undefined;
    const { signal } = this.#options;
    if (this.#stopped || !this.#supported || signal.aborted || this.#inProgress().length === 0) return;
    this.#timer = this.#options.clock.after(this.#delayMs, () => this.#due());
    this.#delayMs = Math.min(polling.mostMs, this.#delayMs * polling.factor);
  }

  /** The poll begins as soon as the request budget has room. */
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
        // Only the states of the endpoints show progress from now on.
        this.#refusedUntil = this.#options.clock.monotonic() + refusedForMs;
        this.#dropInProgress();
        onChange(undefined);
        return;
      }
      const listed = answer.kind === "ok" ? answer.value : [];
      for (const endpointID of this.#update(new Map(listed.map((one) => [one.id, one])))) onChange(endpointID);
    } catch {
      // Aborted: the process is stopping, or may no longer send.
    } finally {
      this.#polling = false;
    }
    this.#schedule();
  }

  /** Takes over the listed operations; returns the affected endpoints. */
  #update(listed: ReadonlyMap<string, Operation>): Set<string | undefined> {
    const now = this.#options.clock.monotonic();
    const changed = new Set<string | undefined>();
    for (const { operation, since, updatedAt } of this.#inProgress()) {
      const news = listed.get(operation.id);
      if (news === undefined) {
        // Not in the list: too old, or not there yet. It is dropped when there is no news for long.
        if (now - updatedAt < staleAfterMs) continue;
        this.#known.delete(operation.id);
        this.#giveUp(operation.id);
        changed.add(operation.endpoint_id);
        continue;
      }
      this.#known.set(news.id, { operation: { ...operation, ...news }, since, updatedAt: now });
      if (!isInProgress(news)) this.#options.onEnded?.(news);
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
      if (!isInProgress(operation)) this.#known.delete(id);
    }
  }
}

/** What the newest operations of a project say of one endpoint. */
export function latestIn(listed: readonly Operation[], endpointID: string): Latest {
  const operations = listed.filter(({ endpoint_id }) => endpoint_id === endpointID);
  // In a busy project, the newest operations may all belong to other endpoints.
  const cutShort = operations.length === 0 && listed.length >= operationsListed;
  return cutShort ? { kind: "unsupported" } : { kind: "listed", operations };
}

function newestFirst(a: Operation, b: Operation): number {
  return (b.created_at ?? "").localeCompare(a.created_at ?? "") || b.id.localeCompare(a.id);
}
