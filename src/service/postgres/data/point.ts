import { z } from "zod";
import type { HistoryPoint } from "../../domain/history-point.ts";

/** The state that a copy shows: one of its source's past, or that of the call that asked for the copy. */
export type CopiedPoint = HistoryPoint | { kind: "call"; at: number };

const StoredPoint = z.union([
  z.object({ kind: z.literal("time"), at: z.number() }),
  z.object({ kind: z.literal("lsn"), lsn: z.string() }),
  z.object({ kind: z.literal("call"), at: z.number() }),
]);

export function pointFrom(stored: string): CopiedPoint {
  return StoredPoint.parse(JSON.parse(stored));
}

/** As a message names it. */
export function pointInWords(point: HistoryPoint): string {
  return point.kind === "time" ? new Date(point.at).toISOString() : `LSN ${point.lsn}`;
}

/** The settings with which a server recovers to the point and no further. */
export function recoverySettings(point: HistoryPoint): Readonly<Record<string, string>> {
  const target =
    point.kind === "time"
      ? { recovery_target_time: new Date(point.at).toISOString().replace("T", " ").replace("Z", "+00") }
      : { recovery_target_lsn: point.lsn, recovery_target_inclusive: "off" };
  return {
    ...target,
    recovery_target_action: "promote",
    // A server that takes clients meanwhile needs settings as large as those that the log was written with.
    hot_standby: "off",
  };
}
