import type { ServiceContext } from "../context.ts";

/** Controls that `--test-controls` gives a client's tests over a running service. */
export interface TestControls {
  /** Restores the initial content of an empty store. To be called in a transaction. */
  applySeed(context: ServiceContext, at: number): void;
  /** Advances the clock. */
  advance(ms: number): void;
}
