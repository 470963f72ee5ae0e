/** One client at a compute. */
export interface Session {
  endpointId: string;
  pooled: boolean;
  /** True if it takes one of the compute's connections: it has logged in. */
  counts: boolean;
}

/** The clients at all computes. One is here until its server process has ended, also after the client has left. */
export class Sessions {
  readonly #open = new Map<string, Set<Session>>();
  readonly #lastLeft = new Map<string, number>();

  open(session: Session): void {
    const { endpointId } = session;
    this.#open.set(endpointId, (this.#open.get(endpointId) ?? new Set()).add(session));
  }

  /** Answers whether it was the last of its compute. */
  close(session: Session, at: number): boolean {
    const here = this.#open.get(session.endpointId);
    if (!here?.delete(session)) return false;
    this.#lastLeft.set(session.endpointId, at);
    if (here.size > 0) return false;
    this.#open.delete(session.endpointId);
    this.#lastLeft.delete(session.endpointId);
    return true;
  }

  /** Time at which a client last left a compute that has others, in milliseconds since the epoch; 0 if none did. */
  lastLeft(endpointId: string): number {
    return this.#lastLeft.get(endpointId) ?? 0;
  }

  /** The computes that have clients. */
  endpoints(): string[] {
    return [...this.#open.keys()];
  }

  /** Number of clients that have logged in. */
  count(endpointId: string, pooled: boolean): number {
    const here = [...(this.#open.get(endpointId) ?? [])];
    return here.filter((session) => session.counts && session.pooled === pooled).length;
  }

  any(endpointId: string): boolean {
    return this.#open.has(endpointId);
  }
}
