import { availableParallelism } from "node:os";

const workers = Math.min(2, availableParallelism());
const seedsInAll = 500;

/** The seeds that `npm test` plays: what these find of a mistake, a planted bug shows. */
export const first = { from: 1, seeds: 60, workers };

/** The seeds that `npm run verify` plays. */
export const rest = { from: first.from + first.seeds, seeds: seedsInAll - first.seeds, workers };
