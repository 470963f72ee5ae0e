/** One client at a compute. */
export interface Session {
  endpointId: string;
  pooled: boolean;
  /** True if it reads the log of the compute's server. */
  replicates?: boolean | undefined;
  /** True if it takes one of the compute's connections: it has logged in. Changed by `logIn` alone. */
  counts: boolean;
  /** Absent before the client has said it. */
  role?: string;
  logout: AbortController;
}

/** The clients at all computes. One is here until its server process has ended, also after the client has left. */
export class Sessions {
  readonly #open = new Map<string, Set<Session>>();
  /** Numbers of those that have logged in: each login of thousands asks, and each end. */
  readonly #counts = new Map<string, number>();
  readonly #lastLeft = new Map<string, number>();

  open(session: Session): void {
    const { endpointId } = session;
    this.#open.set(endpointId, (this.#open.get(endpointId) ?? new Set()).add(session));
    if (session.counts) this.#change(session, 1);
  }

  logIn(session: Session): void {
    session.counts = true;
    this.#change(session, 1);
  }

  /** True if it is the only one of its compute. */
  isAlone(session: Session): boolean {
    const here = this.#open.get(session.endpointId);
    return here?.size === 1 && here.has(session);
  }

  close(session: Session, at: number): void {
    const here = this.#open.get(session.endpointId);
    if (!here?.delete(session)) return;
    if (session.counts) this.#change(session, -1);
    this.#lastLeft.set(session.endpointId, at);
    if (here.size > 0) return;
    this.#open.delete(session.endpointId);
    this.#lastLeft.delete(session.endpointId);
  }

  /** Ends the sessions of roles, or of all: a client that has not said its role yet is to prove what holds then. */
  logOut(endpointId: string, roles: readonly string[] | undefined): void {
    for (const { role, logout } of this.#open.get(endpointId) ?? [])
      if (role !== undefined && (roles?.includes(role) ?? true)) logout.abort();
  }

  /** Ends the pooled sessions that have logged in by the name of a client's role. */
  logOutPooled({ endpointId, role }: Session): void {
    for (const one of this.#open.get(endpointId) ?? [])
      if (one.pooled && one.counts && one.role === role) one.logout.abort();
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
    return this.#counts.get(`${endpointId} ${pooled}`) ?? 0;
  }

  /** Number of clients that have logged in and replicate. */
  replicating(endpointId: string): number {
    return [...(this.#open.get(endpointId) ?? [])].filter(({ counts, replicates }) => counts && replicates).length;
  }

  #change({ endpointId, pooled }: Session, by: 1 | -1): void {
    const count = this.count(endpointId, pooled) + by;
    if (count > 0) this.#counts.set(`${endpointId} ${pooled}`, count);
    else this.#counts.delete(`${endpointId} ${pooled}`);
  }

  any(endpointId: string): boolean {
    return this.#open.has(endpointId);
  }
}
