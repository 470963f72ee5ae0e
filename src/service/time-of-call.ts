import type { ServiceContext } from "./context.ts";
import { mostAtOnce } from "./domain/due-events.ts";
import { StoreFull } from "./refusal.ts";

interface Timed {
  context: Pick<ServiceContext, "clock">;
  settle(now: number, most: number): void;
  nextDue(): number | undefined;
  report(error: unknown): void;
}

/** Carries out what is due at a service, and answers the time at which a call is made. */
export function timeOfCall(service: Timed): number {
  const now = service.context.clock.now();
  try {
    service.settle(now, mostAtOnce);
    // Amid much that is due, that of what comes next: usage is recorded in order.
    return Math.min(now, service.nextDue() ?? now);
  } catch (error) {
    // A full disk delays what is due, as a mistake of ours in it does: others' calls are answered all the same.
    if (!(error instanceof StoreFull)) service.report(error);
    return now;
  }
}
