import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { appendFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { startWithUs } from "./guardian.ts";
import { patience } from "./patience.ts";

export interface ChildOptions {
  /** Names the process in errors. */
  name: string;
  command: string;
  args: readonly string[];
  env?: NodeJS.ProcessEnv;
}

/** How a process ended: its exit status, or the signal that ended it. */
export interface ChildEnd {
  status: number | null;
  signal: NodeJS.Signals | null;
}

/** The most lines that are kept of a process's output. */
const keptLines = 20_000;

/** A process of our own: its output line by line, its end, and no way for it to outlive us. */
export class Child {
  readonly name: string;
  readonly pid: number;
  /** Resolves when it has ended. */
  readonly end: Promise<ChildEnd>;
  readonly #process: ChildProcess;
  readonly #lines: string[] = [];
  readonly #events = new EventEmitter().setMaxListeners(0);
  #ended = false;
  #killed = false;

  /** Starts it; throws where the command cannot be run at all. */
  static async start(options: ChildOptions): Promise<Child> {
    const { command, args, env = process.env } = options;
    const child = startWithUs((own) => spawn(command, args, { ...own, stdio: ["ignore", "pipe", "pipe"], env }));
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => reject(new Error(`${options.name} cannot be started: ${error.message}`)));
    });
    return new Child(options.name, child);
  }

  private constructor(name: string, child: ChildProcess) {
    if (child.pid === undefined || child.stdout === null || child.stderr === null) {
      throw new Error(`${name} has no process id or no output`);
    }
    this.name = name;
    this.pid = child.pid;
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => this.#keep(line));
    }
    this.end = new Promise((resolve) => {
      child.once("close", (status, signal) => {
        this.#ended = true;
        this.#events.emit("end");
        resolve({ status, signal });
      });
    });
  }

  /** Whether it was we who ended it. */
  get killed(): boolean {
    return this.#killed;
  }

  get running(): boolean {
    return !this.#ended;
  }

  /** Everything it has written so far, both streams in the order of arrival. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /** The end of its output, for an error message. */
  tail(count = 15): string {
    return this.#lines.slice(-count).join("\n");
  }

  /** Writes everything, past and future, to a file too. */
  logTo(file: string): void {
    writeFileSync(file, this.#lines.map((line) => `${line}\n`).join(""));
    this.#events.on("line", (line: string) => appendFileSync(file, `${line}\n`));
  }

  /** The first line that matches, past or future; rejects where it ends, or `timeoutMs` pass while we run, before. */
  waitForLine(pattern: RegExp, timeoutMs = 90_000): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        stop();
        this.#events.off("line", onLine).off("end", onEnd);
        settle();
      };
      const onLine = (line: string) => {
        const match = pattern.exec(line);
        if (match !== null) finish(() => resolve(match));
      };
      const fail = (what: string) =>
        finish(() => reject(new Error(`${this.name} ${what} before it wrote ${pattern}. It wrote:\n${this.tail()}`)));
      const onEnd = () => fail("ended");
      const { stop } = patience(timeoutMs, () => fail(`took more than ${timeoutMs} ms`));
      for (const line of this.#lines) {
        const match = pattern.exec(line);
        if (match !== null) {
          finish(() => resolve(match));
          return;
        }
      }
      if (this.#ended) onEnd();
      else this.#events.on("line", onLine).on("end", onEnd);
    });
  }

  /** Sends a signal to it and to what it has started. */
  signal(signal: NodeJS.Signals): void {
    if (this.#ended) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      this.#process.kill(signal);
    }
  }

  /** Kills it at once, as a crash would, and waits until it is gone. */
  async kill(): Promise<void> {
    if (!this.#ended) this.#killed = true;
    this.signal("SIGKILL");
    await this.end;
  }

  /** Asks it to end, and kills it where it has not done so within `graceMs`. */
  async stop(graceMs = 10_000): Promise<ChildEnd> {
    this.signal("SIGTERM");
    const grace = patience(graceMs, () => this.signal("SIGKILL"));
    try {
      return await this.end;
    } finally {
      grace.stop();
    }
  }

  #keep(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > keptLines) this.#lines.shift();
    this.#events.emit("line", line);
  }
}
