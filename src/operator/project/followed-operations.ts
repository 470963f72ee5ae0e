import { isInProgress, type Operation, operationOutcome } from "../../api/operation.ts";
import { dropOldest, setNewest } from "../runtime/caches.ts";
import { earliest } from "../runtime/clock.ts";
import { Index } from "../runtime/index-entries.ts";
import { seldomMs } from "../runtime/waits.ts";

/** An operation without news for this long no longer counts as blocking its project, in milliseconds. */
export const staleAfterMs = 60_000;

/** Maximum number of ended operations remembered per project, of ids of operations given up, and of ends. */
const mostRemembered = 1000;

/** An operation that is followed. Times on the monotonic clock. */
export interface Followed {
  operation: Operation;
  since: number;
  /** Time of the last list that showed it. */
  updatedAt: number;
  /** Time of the last list that showed another status, number of failures or `updated_at` than before. */
  changedAt: number;
  /** `undefined`: unknown, or it lasts longer than expected. */
  expectedEndAt: number | undefined;
}

/** Known operations of one project, found by id and by endpoint. */
export class FollowedOperations {
  readonly #known = new Map<string, Followed>();
  readonly #inProgress = new Map<string, Followed>();
  /** Ids of known operations by endpoint. */
  readonly #byEndpoint = new Index();
  /** Time at which the last operation of an endpoint was known to be over. */
  readonly #endedAt = new Map<string, number>();
  /** Operations without news for long: a status may still list them. */
  readonly #givenUp = new Set<string>();

  get inProgress(): ReadonlyMap<string, Followed> {
    return this.#inProgress;
  }

  /** True if the operation is known, or was given up. */
  has(id: string): boolean {
    return this.#known.has(id) || this.#givenUp.has(id);
  }

  /** The operation, if it is known to have failed. */
  failureOf(id: string): Operation | undefined {
    const operation = this.#known.get(id)?.operation;
    return operation !== undefined && operationOutcome(operation.status) === "failed" ? operation : undefined;
  }

  /** The known operations of an endpoint, newest first. */
  of(endpointID: string): Operation[] {
    return [...this.#byEndpoint.get(endpointID)]
      .flatMap((id) => this.#known.get(id)?.operation ?? [])
      .toSorted(newestFirst);
  }

  /** True while an operation of this endpoint is in progress. */
  isBusyWith(endpointID: string): boolean {
    for (const id of this.#byEndpoint.get(endpointID)) if (this.#inProgress.has(id)) return true;
    return false;
  }

  /** Since when the oldest of the operations in progress of this endpoint is followed; `undefined`: none is. */
  busySince(endpointID: string): number | undefined {
    return earliest([...this.#byEndpoint.get(endpointID)].map((id) => this.#inProgress.get(id)?.since));
  }

  /** Expected end of the operations of this endpoint in progress; `undefined`: unknown, or none is. */
  expectedEndOf(endpointID: string): number | undefined {
    const inProgress = [...this.#byEndpoint.get(endpointID)].flatMap((id) => this.#inProgress.get(id) ?? []);
    const ends = inProgress.flatMap(({ expectedEndAt }) => expectedEndAt ?? []);
    return ends.length > 0 && ends.length === inProgress.length ? Math.max(...ends) : undefined;
  }

  /** End of the operations of this endpoint, as far as they were followed; `undefined`: one is in progress. */
  endedAt(endpointID: string): number | undefined {
    return this.isBusyWith(endpointID) ? undefined : (this.#endedAt.get(endpointID) ?? Number.NEGATIVE_INFINITY);
  }

  /** True if operations of this endpoint were followed, and all were over before `at`. */
  wereOverBefore(endpointID: string, at: number): boolean {
    const endedAt = this.endedAt(endpointID);
    return endedAt !== undefined && Number.isFinite(endedAt) && endedAt < at;
  }

  /** Number of writes that still run at `at`, by the known operations: one for each endpoint. */
  writesRunningAt(at: number): number {
    const endpoints = new Set<string>();
    for (const { operation, until } of this.#running())
      if (at < until) endpoints.add(operation.endpoint_id ?? operation.id);
    return endpoints.size;
  }

  /** Expected end of the next operation after `at`, or the time from which it no longer counts. */
  nextEndAfter(at: number): number | undefined {
    let next: number | undefined;
    for (const { until } of this.#running()) if (until > at && (next === undefined || until < next)) next = until;
    return next;
  }

  /** Takes in an operation from a write or a list. Old operations that are over are forgotten. */
  set(followed: Followed): void {
    const { id, endpoint_id } = followed.operation;
    this.#unindex(id);
    this.#known.set(id, followed);
    if (endpoint_id !== undefined) this.#byEndpoint.add(endpoint_id, id);
    if (isInProgress(followed.operation)) this.#inProgress.set(id, followed);
    else if (this.#inProgress.delete(id)) this.#ended(followed.operation, followed.updatedAt);
    this.#forgetOldest();
  }

  /** Nothing is heard of the operation, or nothing new. */
  giveUp(operation: Operation, now: number): void {
    this.#forget(operation);
    this.#ended(operation, now);
    this.#givenUp.add(operation.id);
    dropOldest(this.#givenUp, mostRemembered);
  }

  /** The operations in progress, and until when each counts as blocking its project. */
  *#running(): Generator<{ operation: Operation; until: number }> {
    for (const followed of this.#inProgress.values()) {
      const { operation, since, updatedAt, expectedEndAt = Number.POSITIVE_INFINITY } = followed;
      yield { operation, until: Math.min(expectedEndAt, updatedAt + staleAfterMs, since + seldomMs) };
    }
  }

  #ended({ endpoint_id }: Operation, now: number): void {
    if (endpoint_id !== undefined) setNewest(this.#endedAt, endpoint_id, now, mostRemembered);
  }

  #forget({ id }: Operation): void {
    this.#unindex(id);
    this.#known.delete(id);
    this.#inProgress.delete(id);
  }

  #unindex(id: string): void {
    const endpointID = this.#known.get(id)?.operation.endpoint_id;
    if (endpointID !== undefined) this.#byEndpoint.delete(endpointID, id);
  }

  #forgetOldest(): void {
    if (this.#known.size - this.#inProgress.size <= mostRemembered) return;
    for (const [id, { operation }] of this.#known) {
      if (this.#known.size - this.#inProgress.size <= mostRemembered) return;
      if (!this.#inProgress.has(id)) this.#forget(operation);
    }
  }
}

function newestFirst(a: Operation, b: Operation): number {
  return (b.created_at ?? "").localeCompare(a.created_at ?? "") || b.id.localeCompare(a.id);
}
