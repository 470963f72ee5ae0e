import { mostLagMs } from "../../api/list-lag.ts";

// Proof that something at the service is gone. A list may lag by ten seconds and show one moment, so it takes two:
//
//   lists without it           | its own GET since | step
//   begun less than 10 s apart | any               | wait for a later list
//   begun 10 s or more apart   | none yet          | ask for the thing itself
//   begun 10 s or more apart   | 404               | gone
//
// A GET that shows it begins the proof again.

/** Something that lists lack. Times are monotonic milliseconds. */
export interface Absence {
  id: string;
  /** The begin of the first list without it. */
  since: number;
  /** True if its own GET was 404 since. */
  proved: boolean;
  /** Number of its own GETs that have shown it all the same. */
  shown?: number;
}

/** Memory after a list that lacks this one; `undefined`: it lacks nothing that is looked for. */
export function absenceAfter(
  before: Absence | undefined,
  missing: string | undefined,
  startedAt: number,
): Absence | undefined {
  if (missing === undefined) return undefined;
  return before?.id === missing ? before : { id: missing, since: startedAt, proved: false };
}

/** The next step of a proof. `forMs`: a list that begins so much later than this one counts. */
export type ProofStep = { kind: "proved" } | { kind: "ask" } | { kind: "wait"; forMs: number };

/** The next step to prove that something is gone, by a list that lacks it and began then. */
export function nextProof(absence: Absence | undefined, startedAt: number): ProofStep {
  if (absence?.proved === true) return { kind: "proved" };
  const forMs = mostLagMs - (startedAt - (absence?.since ?? startedAt));
  return forMs > 0 ? { kind: "wait", forMs } : { kind: "ask" };
}
