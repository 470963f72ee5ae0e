import { mostLagMs } from "../../api/list-lag.ts";

// The record of a write: one request to the service whose effect has to be known before the next one of its kind.
//
// Expected flow: noted as unsent, written to the status where a later process has to know of it, sent (`attempt.ts`),
// closed by the answer or by a list. One at a time.
//
//   event                                     | phase after it     | `openedAt`
//   noted: to be sent                         | unsent             | never
//   the request leaves                        | open               | then
//   answer: a refusal, or it never left       | as before it left  | as before it left
//   no usable answer                          | open               | the end of the request
//   answer: success                           | open until a list shows its effect, or closed: the kind's choice
//   the process dies, or the call throws      | open               | when it left, or as the next process sees it
//   a record that is not remembered is seen   | open               | then
//   a list shows the effect                   | closed             | as before
//   a list began when nothing can arrive more | the kind's choice: closed, unsent, or open until a person decides
//
// Guarantees: `unsent` and `closed` say that nothing of the request can take effect from now on. Only an unsent record
// is sent again as it is.
//
// Assumptions: a request takes effect within `--create-settle` of its end; a list lags at most `mostLagMs` and shows
// one moment.

export type Phase = "unsent" | "open" | "closed";

/** Memory of this term about a record. Times on the monotonic clock, in milliseconds. */
export interface Write<Record> {
  readonly record: Record;
  readonly phase: Phase;
  /** Time at which it last opened; `never` if it was not open. It outlasts the answer to a later request. */
  readonly openedAt: number;
  /** Time of the answer that closed it; lists may lag behind that. */
  readonly closedAt?: number | undefined;
}

export const never = Number.NEGATIVE_INFINITY;

/** A record of a request that is about to be sent. */
export function unsent<Record>(record: Record): Write<Record> {
  return { record, phase: "unsent", openedAt: never };
}

/** The request may take effect: it leaves, has ended without a usable answer, or is another process's. */
export function opened<W extends Write<unknown>>(write: W, now: number): W {
  return { ...write, phase: "open", openedAt: now };
}

/** The request can have no further effect; `now`: of the answer that says so. */
export function closed<W extends Write<unknown>>(write: W, now?: number): W {
  return now === undefined ? { ...write, phase: "closed" } : { ...write, phase: "closed", closedAt: now };
}

/** The request had no effect and can have none: the next attempt may use the record again. */
export function unmade<W extends Write<unknown>>(write: W): W {
  return { ...write, phase: "unsent" };
}

/** The memory after an object shows a record. `isKnown`: it is the one that is remembered, or an older one. */
export function afterShown<W extends Write<unknown>>(
  { remembered, isKnown }: { remembered: W | undefined; isKnown: boolean },
  shown: W,
  now: number,
): W {
  return remembered !== undefined && isKnown ? remembered : opened(shown, now);
}

/** Time from which lists show all that an open request can have done. */
export function settlesAt({ openedAt }: Pick<Write<unknown>, "openedAt">, createSettleMs: number): number {
  return openedAt + createSettleMs + mostLagMs;
}

/** Time from which lists show what an answer has said. */
export function showsAt({ closedAt = never }: Pick<Write<unknown>, "closedAt">): number {
  return closedAt + mostLagMs;
}

/** True if an answer of this kind proves that the request did nothing: a definite refusal, or it never left. */
export function isRefusal({ kind }: { kind: string }): boolean {
  return kind !== "ok" && kind !== "ambiguous";
}
