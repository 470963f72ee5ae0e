import { RequestBudget } from "../../src/operator/service-client/budget.ts";
import { VirtualClock } from "./virtual-clock.ts";

export const forever = new AbortController().signal;

/** A budget on a clock of its own; `ask` waits for a request, and `sent` tells who got one when. */
export function budgetOf(perMinute: number, burst: number) {
  const clock = new VirtualClock();
  const budget = new RequestBudget(clock, { perMinute, burst });
  const sent: { at: number; who: number }[] = [];
  let asked = 0;
  const ask = (signal = forever) => {
    const who = asked++;
    budget.take("write", signal, Number.POSITIVE_INFINITY).then(
      () => sent.push({ at: clock.monotonic(), who }),
      () => {},
    );
  };
  return { clock, budget, sent, ask };
}
