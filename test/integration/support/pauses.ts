import { expect } from "vitest";
import { speed } from "./in-process-operator.ts";
import type { Call } from "./network.ts";

/**
 * Holds the calls to a pause that doubles from `firstMs` to `mostMs` of the operator's time. How many calls there are
 * says how busy the machine is; that none comes early says what the operator does.
 */
export function expectPauses(calls: readonly Call[], { firstMs, mostMs }: { firstMs: number; mostMs: number }): void {
  for (const [index, { at }] of calls.slice(1).entries()) {
    const pause = Math.min(mostMs, firstMs * 2 ** index) / speed;
    expect(at - (calls[index]?.at ?? at), `the pause before call ${index + 2}`).toBeGreaterThan(0.8 * pause);
  }
}
