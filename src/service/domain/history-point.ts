/** A state of a branch in its past: at a time in milliseconds since the epoch, or at a position of its log. */
export type HistoryPoint = { kind: "time"; at: number } | { kind: "lsn"; lsn: string };

/** The position in the log of an LSN such as `0/1E19478`. */
export function positionOf(lsn: string): bigint {
  const [high = "0", low = "0"] = lsn.split("/");
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

/** The point that a call asks for; `undefined` for the present. */
export function pointOf({
  time,
  lsn,
}: {
  time: number | undefined;
  lsn: string | undefined;
}): HistoryPoint | undefined {
  if (time !== undefined) return { kind: "time", at: time };
  return lsn === undefined ? undefined : { kind: "lsn", lsn };
}
