import { type ChildProcess, fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { Reply, type Request } from "./messages.ts";

const program = join(import.meta.dirname, "worker.ts");
/** A process that says nothing for so long turns in circles; tests that are measured do not. */
const silenceMs = { try: 20_000, measure: 300_000 };
/** On a busy machine a process may be silent because it gets no processor: so many times as long it is waited for. */
const mostPatience = 30;

/** One worker process. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  #take: ((reply: Reply | "silent" | "died") => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #ready: Promise<Reply | "silent" | "died">;
  #said = "";
  #silenceMs = silenceMs.try;
  #silences = 0;
  #usedBefore = 0;

  /** With a `mutant`, it is on from the start, also while modules are loaded. */
  constructor(sourcesFile: string, mutant = 0) {
    this.#child = fork(program, [sourcesFile, String(mutant)], {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      execArgv: ["--max-old-space-size=2000", "--disable-warning=ExperimentalWarning"],
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#said = (this.#said + text).slice(-2000);
    });
    // A program that a changed guardian leaves behind has this pipe too: nobody waits for its end.
    if (this.#child.stderr instanceof Socket) this.#child.stderr.unref();
    this.#child.on("message", (message) => this.#hear(Reply.parse(message)));
    this.#child.once("exit", () => this.#end("died"));
    this.#ready = this.#nextReply();
  }

  /** What it wrote last, for an error. */
  get said(): string {
    return this.#said;
  }

  async ask(request: Request): Promise<Reply | "silent" | "died"> {
    const ready = await this.#ready;
    if (ready === "silent" || ready === "died") return ready;
    this.#silenceMs = silenceMs[request.kind];
    const reply = this.#nextReply();
    this.#child.send(request);
    return reply;
  }

  kill(): void {
    clearTimeout(this.#timer);
    this.#child.kill("SIGKILL");
  }

  #nextReply(): Promise<Reply | "silent" | "died"> {
    return new Promise((resolve) => {
      this.#take = resolve;
      this.#wait();
    });
  }

  #wait(): void {
    this.#silences = 0;
    this.#usedBefore = this.#used();
    this.#listen();
  }

  #listen(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#silences += 1;
      const used = this.#used() - this.#usedBefore;
      if (used < this.#silenceMs / 2 && this.#silences < mostPatience) this.#listen();
      else this.#end("silent");
    }, this.#silenceMs);
  }

  /** The time of the processor that the process has had, in milliseconds. */
  #used(): number {
    try {
      const fields = readFileSync(`/proc/${this.#child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      // Linux counts in hundredths of a second.
      return 10 * (Number(fields[11]) + Number(fields[12]));
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  }

  #hear(reply: Reply): void {
    if (reply.kind === "alive") this.#wait();
    else this.#end(reply);
  }

  #end(reply: Reply | "silent" | "died"): void {
    clearTimeout(this.#timer);
    const take = this.#take;
    this.#take = undefined;
    take?.(reply);
  }
}
