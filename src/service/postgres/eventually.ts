import { elapsed } from "../clock.ts";
import { unlessFull } from "../refusal.ts";
import type { DrivenService } from "./driven-service.ts";

/** Wait before a change is tried again, in milliseconds. */
const retryMs = 1000;

/** Stores what has happened: at once, or where the disk is full as soon as there is room, until `closed`. */
export async function eventually(
  service: DrivenService,
  act: Parameters<DrivenService["change"]>[0],
  closed: () => boolean,
): Promise<void> {
  while (!closed()) {
    if (unlessFull(() => service.change(act))) return;
    await elapsed(service.context.clock, retryMs);
  }
}
