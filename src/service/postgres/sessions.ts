/** One client at a compute. */
export interface Session {
  endpointId: string;
  pooled: boolean;
}

/** The clients at all computes. One counts until its server process has ended, also after the client has left. */
export class Sessions {
  readonly #open = new Map<string, Set<Session>>();

  open(session: Session): void {
    const { endpointId } = session;
    this.#open.set(endpointId, (this.#open.get(endpointId) ?? new Set()).add(session));
  }

  /** Answers whether it was the last of its compute. */
  close(session: Session): boolean {
    const here = this.#open.get(session.endpointId);
    if (!here?.delete(session) || here.size > 0) return false;
    this.#open.delete(session.endpointId);
    return true;
  }

  count(endpointId: string, pooled: boolean): number {
    return [...(this.#open.get(endpointId) ?? [])].filter((session) => session.pooled === pooled).length;
  }

  any(endpointId: string): boolean {
    return this.#open.has(endpointId);
  }
}
