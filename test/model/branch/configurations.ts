import type { Configuration } from "./search.ts";

/** More happens than elsewhere, of few things: creates of one process come while the next one deletes. */
export const lateCreates = {
  happenings: 4,
  steps: 4,
  among: ["the process dies", "a request that comes late", "the object is deleted"],
} as const;

/** A policy that is declared and taken back, around a create that comes late. */
export const policies = {
  happenings: 4,
  steps: 4,
  among: ["a person declares Retain, or no policy again", "a request that comes late", "the object is deleted"],
} as const;

/** A reset whose outcome is noted late, or by another process. */
export const lateNotes = {
  happenings: 4,
  steps: 4,
  among: ["a person asks for a reset", "a status that is refused", "no list that is new enough", "the process dies"],
} as const;

/** The worlds that are searched: `happenings` at most, each at one of the first `steps`. */
export function configurations(happenings: number, steps: number): Configuration[] {
  const all = { happenings, steps, showsResets: true };
  return [
    { ...all, name: "a branch without an end", expiry: { never: true } },
    { ...all, name: "a branch that ends", expiry: { after: "1h" } },
    { ...all, name: "a lease", expiry: { lease: "1h" } },
    { ...all, name: "a short lease at a service that shows no resets", expiry: { lease: "6m" }, showsResets: false },
  ];
}
