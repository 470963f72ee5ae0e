import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { createInterface } from "node:readline";
import { z } from "zod";
import { type GuardedServer, type Processes, serverEnvironment } from "./processes.ts";

const Report = z.object({ id: z.number(), status: z.number().nullable() });

/** A program that the guardian is to run. */
interface Started {
  command: string;
  args: readonly string[];
  logFile: string;
  options: { cwd: string; env: Readonly<Record<string, string>>; uid?: number; gid?: number };
}

/**
 * The guardian's own program. It runs what it is told to in lines of JSON, and reports each end in another one. A
 * program that it is to stop, and all of them when the pipe from the service closes, it asks for a fast shutdown, and
 * after ten seconds for an immediate one. A client can have its server take all memory: where that is short, the system
 * is to end a process of a server, which starts again, rather than the service, which is larger than one session. A
 * process that fails leaves no memory in the file that it may write into its data, to be copied with it.
 */
const source = `
const { spawn } = require("node:child_process");
const { closeSync, openSync, readFileSync, writeFileSync } = require("node:fs");
const programs = new Map();
const stop = (program) => {
  program?.kill("SIGINT");
  setTimeout(() => program?.kill("SIGQUIT"), 10_000).unref();
};
const signal = ({ pid, name }) => {
  // The process may have ended meanwhile.
  try { process.kill(pid, "SIG" + name); } catch {}
};
const report = (id, status) => process.stdout.write(JSON.stringify({ id, status }) + "\\n");
const expend = (pid) => {
  const file = (of, name) => "/proc/" + of + "/" + name;
  // Not every system has these files.
  try {
    const own = Number(readFileSync(file("self", "oom_score_adj")));
    writeFileSync(file(pid, "oom_score_adj"), String(Math.min(1000, own + 500)));
    writeFileSync(file(pid, "coredump_filter"), "0");
  } catch {}
};
const start = (id, { command, args, logFile, options }) => {
  const log = openSync(logFile, "a", 0o600);
  let program;
  try { program = spawn(command, args, { ...options, stdio: ["ignore", log, log] }); } finally { closeSync(log); }
  programs.set(id, program);
  expend(program.pid);
  const ended = (status) => {
    if (programs.delete(id)) report(id, status);
  };
  program.once("error", () => ended(null));
  program.once("exit", ended);
};
process.stdout.on("error", () => {});
require("node:readline").createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { id, started, signalled } = JSON.parse(line);
    // A disk without room for its log must not end all other programs.
    if (started) try { start(id, started); } catch { report(id, null); }
    else if (signalled) signal(signalled);
    else stop(programs.get(id));
  })
  .on("close", () => programs.forEach(stop));
`;

/**
 * Runs servers and poolers in one process of its own, which stops them when the service ends in any way. That process
 * is in a session of its own, so that no signal meant for the service reaches it, and needs no shell.
 */
export class Guardian {
  readonly #ended = new Map<number, (status: number | null) => void>();
  readonly #node: string;
  #process: ChildProcess | undefined;
  #lastId = 0;

  /** `node`: the path of the program. */
  constructor(node: string) {
    this.#node = node;
  }

  guard(...[command, args, { logFile, user }]: Parameters<Processes["guard"]>): GuardedServer {
    const id = ++this.#lastId;
    const ended = new Promise<number | null>((resolve) => this.#ended.set(id, resolve));
    this.#tell({ id, started: { command, args, logFile, options: { cwd: "/", env: serverEnvironment, ...user } } });
    let stopped = false;
    const stop = () => {
      if (!stopped && this.#ended.has(id)) this.#tell({ id });
      stopped = true;
    };
    return { ended, stop };
  }

  /** Signals a process that another guardian has left over. */
  signal(pid: number, name: "INT" | "QUIT"): void {
    this.#tell({ signalled: { pid, name } });
  }

  #tell(message: { id?: number; started?: Started; signalled?: { pid: number; name: string } }): void {
    const guardian = (this.#process ??= this.#start());
    this.#hold(guardian);
    guardian.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  #start(): ChildProcess {
    const guardian: ChildProcess = spawn(this.#node, ["--max-semi-space-size=1", "--eval", source], {
      cwd: "/",
      env: {},
      detached: true,
      stdio: ["pipe", "pipe", "inherit"],
    });
    guardian.once("error", () => this.#lost());
    guardian.once("exit", () => this.#lost());
    guardian.stdin?.on("error", () => {});
    // A process that got no pipes, as too many files are open, says so in an error that follows.
    if (guardian.stdout) createInterface({ input: guardian.stdout }).on("line", (line) => this.#heard(guardian, line));
    return guardian;
  }

  #heard(guardian: ChildProcess, line: string): void {
    const { id, status } = Report.parse(JSON.parse(line));
    this.#ended.get(id)?.(status);
    this.#ended.delete(id);
    this.#hold(guardian);
  }

  /** The guardian itself has ended: what it ran is left over, and found by its directory. */
  #lost(): void {
    this.#process = undefined;
    for (const resolve of this.#ended.values()) resolve(null);
    this.#ended.clear();
  }

  /** Only a program that runs keeps the service's own process from its end. */
  #hold(guardian: ChildProcess): void {
    const verb = this.#ended.size > 0 ? "ref" : "unref";
    guardian[verb]();
    for (const stream of [guardian.stdin, guardian.stdout]) if (stream instanceof Socket) stream[verb]();
  }
}
