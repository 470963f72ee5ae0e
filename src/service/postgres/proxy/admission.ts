import type { ScramVerifier } from "../session/scram.ts";

/** A client is let in. */
export interface Admission {
  /** The path of a socket that takes the role whose verifier was asked for last to a database. Rejects: `Rejection`. */
  socket: (database: string) => Promise<string>;
  /** The server's verifier of a role's password. Rejects with `Rejection`. */
  verifierOf(role: string): Promise<ScramVerifier>;
  /** Checks passwords of a compute one after another: strangers send many. The networks of clients take turns. */
  inTurn<Result>(check: () => Promise<Result>): Promise<Result>;
  /** Hashes one password at a time, of all computes: the process has four threads for all. Owners take turns. */
  alone<Result>(hash: () => Promise<Result>): Promise<Result>;
  /** Ends a session of the compute's server that does not end when it is told to. Rejects with `Rejection`. */
  end(processId: number): Promise<void>;
  /** Calls `follower` when the compute's server has ended, unless the returned function is called first. */
  onServerEnd(follower: () => void): () => void;
  /** Aborts where the login holds no more: the session is to end at once. */
  logout: AbortSignal;
  /** To be called when it has logged in. Throws `Rejection` after `logout`, or where no connection is left. */
  enter: () => void;
  /** To be called once, when its server process has ended. */
  leave: () => void;
}
