import type { Operation } from "../../api/operation.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { unattended } from "../runtime/unattended.ts";
import { seldomMs, soonMs } from "../runtime/waits.ts";
import { type Failure, isRefused } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import { mostOperationsListed, operationsListed } from "../service-client/operations-answer.ts";
import type { Priority } from "../service-client/priority.ts";
import { type Followed, FollowedOperations, staleAfterMs } from "./followed-operations.ts";
import type { OperationTimes } from "./operation-times.ts";

/** The latest operations of an endpoint; `unsupported`: the service does not show them. */
export type Latest =
  | { kind: "listed"; operations: readonly Operation[] }
  | { kind: "unsupported" }
  | { kind: "failed"; failure: Failure };

/**
 * Times of polls, in milliseconds. `everyMs`: at most one in this time; an operation of unknown duration is
 * expected to take so long. `putOffMs`: so long for each operation in progress, and `mostPutOffMs` in all, a poll
 * waits for those of further writes. `many`: with so many in progress, all of a known duration, it waits until no
 * write has come for `gapMs`, `mostOfManyMs` at most. `mostMs`: the longest delay between polls while operations
 * last longer than expected; each is `factor` times longer. Once `share` of the time that the newest operation has
 * taken is more, that is the longest delay, but no longer than the refresh interval.
 */
const polling = {
  everyMs: 1000,
  putOffMs: 150,
  mostPutOffMs: 1500,
  many: 3,
  gapMs: 500,
  mostOfManyMs: 4500,
  factor: 1.5,
  mostMs: 5000,
  share: 0.1,
} as const;

/** A poll follows the expected end of an operation by so much, in milliseconds. */
const slackMs = 20;

export interface OperationsOptions {
  /** For polls, which no reconcile waits for. */
  client: ServiceClient;
  /** The present priority of polls. */
  priority: () => Priority;
  /** The tenant whose turn in the request budget polls take. */
  tenant?: () => string;
  projectID: string;
  clock: Clock;
  signal: AbortSignal;
  log: Logger;
  times: OperationTimes;
  refreshIntervalMs: () => number;
  /** True if a list begun after that time shows no change of the endpoint in progress. */
  isAtRestAfter: (endpointID: string, after: number) => boolean;
  /** After a poll: the endpoints whose operations changed. */
  onPolled: (endpointIDs: ReadonlySet<string>) => void;
  /** A followed operation has ended. */
  onEnded?: ((operation: Operation) => void) | undefined;
}

/**
 * Follows the operations of the operator's own writes until they end, with one list call per poll for the whole
 * project. If the service lacks the call, only the states of the endpoints show progress.
 */
export class Operations {
  readonly #options: OperationsOptions;
  readonly followed = new FollowedOperations();
  #timer: Cancel | undefined;
  #stopped = false;
  #polling = false;
  #polledAt = Number.NEGATIVE_INFINITY;
  /** Time of the next poll. */
  #plannedAt = Number.NEGATIVE_INFINITY;
  /** Times of polls for operations that are expected to end: the first and the last of them. */
  #due: { first: number; last: number; isKnown: boolean } | undefined;
  /** The delay of the next poll while operations last longer than expected. */
  #delayMs: number = polling.everyMs;
  /** The service has answered the call once, so it has the call: any later refusal is only a failure. */
  #hasAnswered = false;
  #refusedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  /** Follows these operations, from a write or from a status. */
  follow(operations: readonly Operation[]): void {
    const now = this.#options.clock.monotonic();
    let begun = false;
    for (const operation of operations) {
      if (this.followed.has(operation.id)) continue;
      const expected = this.#options.times.expectedOf(operation.action);
      const expectedEndAt = expected === undefined ? undefined : now + expected;
      this.followed.set({ operation, since: now, updatedAt: now, changedAt: now, expectedEndAt });
      if (!this.followed.inProgress.has(operation.id)) continue;
      begun = true;
      this.#expect(expectedEndAt ?? now + polling.everyMs, expectedEndAt !== undefined);
    }
    // Ended operations must not postpone the next poll: in a large fleet, reconciles report such all the time.
    if (!begun) return;
    if (!this.#supported) this.#dropInProgress();
    this.#delayMs = polling.everyMs;
    this.#schedule();
  }

  /**
   * Time at which a poll, and a list after it, are expected to show what the operations of this endpoint did;
   * `undefined`: the end of one is unknown, or none is in progress.
   */
  showsResultAt(endpointID: string): number | undefined {
    const expectedEndAt = this.followed.expectedEndOf(endpointID);
    return expectedEndAt && Math.max(expectedEndAt, this.#plannedAt) + soonMs;
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

  /** True if the service lacks the call, or refuses it to this key. */
  #isNoCall(failure: Failure): boolean {
    return !this.#hasAnswered && isRefused(failure);
  }

  /** An operation is expected to end at that time: a poll is due then. */
  #expect(at: number, isKnown: boolean): void {
    const due = at + slackMs;
    const before = this.#due ?? { first: due, last: due, isKnown };
    this.#due = {
      first: Math.min(due, before.first),
      last: Math.max(due, before.last),
      isKnown: isKnown && before.isKnown,
    };
  }

  #schedule(): void {
    this.#timer?.();
    this.#timer = undefined;
    const { signal, clock } = this.#options;
    if (this.#stopped || !this.#supported || signal.aborted || this.followed.inProgress.size === 0) return;
    const at = this.#due ? this.#dueAt(this.#due) : this.#polledAt + this.#delayMs;
    this.#plannedAt = Math.max(at, this.#polledAt + polling.everyMs);
    this.#timer = clock.after(Math.max(0, Math.ceil(this.#plannedAt - clock.monotonic())), () => this.#dueNow());
  }

  /** Operations that end at about the same time share a poll, as do those of many writes that follow each other. */
  #dueAt({ first, last, isKnown }: { first: number; last: number; isKnown: boolean }): number {
    const { size } = this.followed.inProgress;
    if (isKnown && size >= polling.many) return Math.min(last + polling.gapMs, first + polling.mostOfManyMs);
    return Math.min(last, first + Math.min(polling.mostPutOffMs, polling.putOffMs * size));
  }

  /** The poll begins as soon as the request budget has room. */
  #dueNow(): void {
    // The budget may call before the time of a poll that was planned since.
    this.#timer?.();
    this.#timer = undefined;
    const { client, priority, tenant } = this.#options;
    if (this.#stopped || this.#polling || this.followed.inProgress.size === 0) {
      client.leave(this);
      return;
    }
    const reservation = client.reservation(this, () => this.#dueNow(), tenant?.());
    if (!reservation.tryTake(priority())) return;
    void unattended(this.#poll(client.within(reservation)), this.#options, "A poll ended by a defect: continuing");
  }

  async #poll(client: ServiceClient): Promise<void> {
    const { projectID, signal, onPolled, clock } = this.#options;
    this.#polling = true;
    const startedAt = clock.monotonic();
    if (this.#due === undefined) this.#delayMs = Math.min(this.#mostDelayMs(startedAt), this.#delayMs * polling.factor);
    this.#polledAt = startedAt;
    this.#due = undefined;
    try {
      // Many may have been begun since the last poll: each is to be among those listed.
      const limit = Math.min(mostOperationsListed, Math.max(operationsListed, 2 * this.followed.inProgress.size));
      const wanted = (id: string) => this.followed.inProgress.has(id);
      const answer = await client.listOperations(projectID, signal, { limit, wanted });
      if (answer.kind === "ok") this.#hasAnswered = true;
      else if (this.#isNoCall(answer)) {
        // Only the states of the endpoints show progress until then; the key may have lacked a right.
        this.#refusedUntil = clock.monotonic() + seldomMs;
        this.#dropInProgress();
        onPolled(new Set());
        return;
      }
      const listed = answer.kind === "ok" ? answer.value : [];
      onPolled(this.#update(new Map(listed.map((one) => [one.id, one])), startedAt));
    } finally {
      this.#polling = false;
      this.#schedule();
    }
  }

  /** The longest delay between polls, by the age of the newest operation in progress. */
  #mostDelayMs(now: number): number {
    const since = [...this.followed.inProgress.values()].map((followed) => followed.since);
    const share = polling.share * (now - Math.max(...since));
    return Math.max(polling.mostMs, Math.min(share, this.#options.refreshIntervalMs()));
  }

  /** Takes over the operations listed by a poll; returns the affected endpoints. */
  #update(listed: ReadonlyMap<string, Operation>, polledAt: number): Set<string> {
    const { clock, times, onEnded } = this.#options;
    const now = clock.monotonic();
    const changed = new Set<string>();
    for (const followed of this.followed.inProgress.values()) {
      const { operation, since, updatedAt, changedAt, expectedEndAt } = followed;
      const news = listed.get(operation.id);
      if (news === undefined) {
        // Not in the list: too old, or not there yet. It is dropped when there is no news for long.
        if (now - updatedAt < staleAfterMs) this.#expectAgain(followed, polledAt);
        else this.#giveUp(operation, now, changed);
        continue;
      }
      const isSame = news.status === operation.status && news.failures_count === operation.failures_count;
      const standsStill = isSame && news.updated_at === operation.updated_at;
      if (standsStill && this.#isOver(followed, now)) {
        this.#giveUp(operation, now, changed);
        continue;
      }
      const isLate = expectedEndAt !== undefined && polledAt >= expectedEndAt;
      const after = { ...operation, ...news };
      this.followed.set({
        operation: after,
        since,
        updatedAt: now,
        changedAt: standsStill ? changedAt : now,
        expectedEndAt: isLate ? undefined : expectedEndAt,
      });
      if (this.followed.inProgress.has(operation.id)) this.#expectAgain(followed, polledAt);
      else {
        times.ended(after);
        onEnded?.(news);
      }
      if (!isSame && operation.endpoint_id !== undefined) changed.add(operation.endpoint_id);
    }
    return changed;
  }

  /**
   * An operation counts as over, whatever its status says, once it has stood still for long and its endpoint shows no
   * change in progress: the status may be a word that this version does not know.
   */
  #isOver({ operation: { endpoint_id }, changedAt }: Followed, now: number): boolean {
    if (now - changedAt < staleAfterMs) return false;
    return endpoint_id === undefined || this.#options.isAtRestAfter(endpoint_id, changedAt);
  }

  #giveUp(operation: Operation, now: number, changed: Set<string>): void {
    this.followed.giveUp(operation, now);
    if (operation.endpoint_id !== undefined) changed.add(operation.endpoint_id);
  }

  #expectAgain({ expectedEndAt }: Followed, polledAt: number): void {
    if (expectedEndAt !== undefined && expectedEndAt > polledAt) this.#expect(expectedEndAt, true);
  }

  #dropInProgress(): void {
    const now = this.#options.clock.monotonic();
    for (const { operation } of this.followed.inProgress.values()) this.followed.giveUp(operation, now);
  }
}

/** The newest operations of one endpoint, among those of its project. */
export function latestIn(listed: readonly Operation[], endpointID: string): Latest {
  const operations = listed.filter(({ endpoint_id }) => endpoint_id === endpointID);
  // In a busy project, the newest operations may all belong to other endpoints.
  const cutShort = operations.length === 0 && listed.length >= operationsListed;
  return cutShort ? { kind: "unsupported" } : { kind: "listed", operations };
}
