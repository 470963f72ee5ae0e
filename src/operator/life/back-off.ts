/** A write that failed, not to be sent again before `until` with the same base URL and key. */
export interface FailedWrite<Reason extends string = string> {
  /** Identity: what the write sends, and the generation that it was planned for. */
  write: string;
  /** Of the base URL and key that it was sent with. */
  fingerprint?: string;
  reason: Reason;
  message: string;
  /** Monotonic milliseconds. */
  until: number;
  failures: number;
}

/** The failure of this very write while its back-off runs: it is shown, and nothing is sent. `account`: as now. */
export function backingOff<Failed extends FailedWrite>(
  failed: Failed | undefined,
  write: string,
  account: string | undefined,
  now: number,
): Failed | undefined {
  if (failed?.write !== write || now >= failed.until) return undefined;
  return failed.fingerprint === undefined || failed.fingerprint === account ? failed : undefined;
}
