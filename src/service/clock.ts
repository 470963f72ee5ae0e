/** Time as the service sees it. Only `main.ts` makes a real one; tests drive their own. */
export interface ServiceClock {
  /** Wall time in milliseconds since the epoch. */
  now(): number;
  /** Runs `task` once after `ms` milliseconds, unless the answer is called first. */
  after(ms: number, task: () => void): () => void;
}

/** A number in [0, 1), as from Math.random. */
export type Random = () => number;

/** A time in milliseconds since the epoch as the API writes it: ISO 8601, UTC. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
