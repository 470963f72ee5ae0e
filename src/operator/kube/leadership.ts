import { OperationalError } from "../runtime/operational-error.ts";

/** The right of this process to write. Checked right before each write to the API server and to the service. */
export interface Leadership {
  mayWrite(): boolean;
  /** Leads whenever it is elected, until the signal aborts; resolves once all work has ended. */
  run(term: LeadershipTerm): Promise<void>;
}

export interface LeadershipTerm {
  signal: AbortSignal;
  /**
   * The work of a leader. Its signal aborts when leadership is lost, and at shutdown, when requests in flight may still
   * finish: the lease is kept until the promise settles. If it rejects, so does `run`.
   */
  onStarted: (leadSignal: AbortSignal) => Promise<void> | void;
}

/** Nothing was sent, because this process does not hold the lease. */
export class NotLeader extends OperationalError {
  override name = "NotLeader";
}

/** For `ClusterClientOptions.beforeSend`: throws `NotLeader` unless this process leads right now. */
export function requireLeader(leadership: Pick<Leadership, "mayWrite">): () => void {
  return () => {
    if (!leadership.mayWrite()) throw new NotLeader("not sent: this process does not hold the lease (any longer)");
  };
}

/** For a single operator without a lease. */
export const alwaysLeader: Leadership = {
  mayWrite: () => true,
  async run({ signal, onStarted }) {
    if (signal.aborted) return;
    await onStarted(signal);
    await aborted(signal);
  },
};

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
