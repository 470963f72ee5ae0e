/** The user of the system that servers run as, where it is not the service's own. */
export interface ProcessUser {
  uid: number;
  gid: number;
  name?: string;
}

/** End of a program: its exit status, and its output. */
export interface Ended {
  status: number | null;
  output: string;
}

/** All that servers and their tools get of the environment: nothing in ours changes what they do. */
export const serverEnvironment = { LC_ALL: "C", PATH: "/usr/bin:/bin" } as const;

export interface RunSettings {
  user?: ProcessUser | undefined;
  cwd?: string;
  env?: Readonly<Record<string, string | undefined>>;
  /** Input of the program. */
  input?: string;
}

/** Facts that identify a running process beyond its id, which may have been given to another one. */
export interface ProcessFacts {
  /** In seconds since the epoch, to within two, as the machine's clock is now. */
  startedAt: number;
  /** The same in seconds since the boot, which no change of the clock moves; absent where the system does not tell. */
  sinceBoot?: number;
  /** The process's working directory, or where the system does not tell, its command line. */
  place: string;
}

/** A server under a guardian, which stops it when this process closes the pipe or ends in any way. */
export interface GuardedServer {
  /** Resolves when server and guardian are gone. */
  readonly ended: Promise<number | null>;
  /** Has the server shut down: fast, and after ten seconds at once. */
  stop(): void;
}

/** The processes of this machine. Only `system-processes.ts` makes real ones. */
export interface Processes {
  run(command: string, args: readonly string[], settings?: RunSettings): Promise<Ended>;
  guard(
    command: string,
    args: readonly string[],
    settings: { logFile: string; user: ProcessUser | undefined },
  ): GuardedServer;
  /** `undefined` where no process has this id. */
  facts(pid: number): Promise<ProcessFacts | undefined>;
  /** Processes of Postgres's whose directory it is; none where the system does not tell. */
  processesIn(data: string): Promise<number[]>;
  /** Number of the processes of the server on this data, itself among them; 1 where the system does not tell. */
  numberAt(data: string): Promise<number>;
  signal(pid: number, name: "INT" | "QUIT"): void;
  /** The most that servers and their clients may have together. */
  readonly most: number;
  /**
   * The service's own process; `user` is the name of its user, where that has one, and `node` the path of the program
   * that it runs.
   */
  readonly self: { pid: number; uid: number; user?: string | undefined; node: string };
}
