/**
 * Seeds that still break a promise, each with what is known of it. `npm run verify` expects exactly these to fail: one
 * that no longer does is taken off this list.
 */
export const openSeeds: ReadonlyMap<number, string> = new Map([
  [1002, "no names shown: a second create that lands after the loss of the first's endpoint waits for a person"],
]);
