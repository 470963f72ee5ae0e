import { timestamp } from "../clock.ts";
import { refusals } from "../refusal.ts";
import type { BranchDetails } from "../store/details.ts";

/** A state of a branch in its past: at a time in milliseconds since the epoch, or at a position of its log. */
export type HistoryPoint = { kind: "time"; at: number } | { kind: "lsn"; lsn: string };

/** The position in the log of an LSN such as `0/1E19478`. */
export function positionOf(lsn: string): bigint {
  const [high = "0", low = "0"] = lsn.split("/");
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

/** The LSN of a position in the log. */
export function lsnOf(position: bigint): string {
  return [position >> 32n, position & 0xffff_ffffn].map((part) => part.toString(16).toUpperCase()).join("/");
}

/** A point of a branch's past in a call: at most one of the two may be given. */
export interface AskedPoint {
  lsn: string | undefined;
  timestamp: number | undefined;
}

/** The point that a call asks for; `undefined` for the present. Refuses both with the message `refusal`. */
export function pointOf({ lsn, timestamp: at }: AskedPoint, refusal: string): HistoryPoint | undefined {
  if (lsn !== undefined && at !== undefined) throw refusals.invalid(refusal);
  if (at !== undefined) return { kind: "time", at };
  return lsn === undefined ? undefined : { kind: "lsn", lsn };
}

/** The point at which a branch begins in another one, as it is kept with the branch. */
export function beginningOf(point: HistoryPoint | undefined): Pick<BranchDetails, "parent_lsn" | "parent_timestamp"> {
  if (point === undefined) return {};
  return point.kind === "lsn" ? { parent_lsn: point.lsn } : { parent_timestamp: timestamp(point.at) };
}
