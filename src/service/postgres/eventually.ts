import { elapsed } from "../clock.ts";
import { unlessFull } from "../refusal.ts";
import type { DrivenService } from "./driven-service.ts";

/** Wait before a change is tried again, in milliseconds. */
const retryMs = 1000;

/**
 * Stores what has happened: at once, or where the disk is full as soon as there is room, until `closed`. Answers false
 * where that fails for another reason, which is reported; never rejects.
 */
export async function eventually(
  service: DrivenService,
  act: Parameters<DrivenService["change"]>[0],
  closed: () => boolean,
): Promise<boolean> {
  try {
    while (!closed() && !unlessFull(() => service.change(act))) await elapsed(service.context.clock, retryMs);
    return true;
  } catch (error) {
    service.report(error);
    return false;
  }
}
