import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Child } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { type OperatorOptions, OperatorProcess } from "../support/processes.ts";

/** Loaded into each operator before its own code. */
const steppedClock = pathToFileURL(join(import.meta.dirname, "stepped-clock.ts"));

/** One operator that is killed and started again, over and over, and all that it ever wrote. */
export class StormOperator implements AsyncDisposable {
  readonly #process: OperatorProcess;
  readonly #lives: Child[] = [];
  /** How often it was killed. */
  kills = 0;
  /** How often its wall clock jumped. */
  steps = 0;

  static async start(options: OperatorOptions): Promise<StormOperator> {
    const env = { ...process.env, NODE_OPTIONS: `--import=${steppedClock.href}` };
    const operator = new StormOperator(await OperatorProcess.prepare({ ...options, env }));
    await operator.launch();
    return operator;
  }

  private constructor(process: OperatorProcess) {
    this.#process = process;
  }

  async launch(): Promise<void> {
    this.#lives.push(await this.#process.launch());
  }

  /** Resolves once it has read what there is. */
  async ready(): Promise<void> {
    await eventually("an operator to be ready", async () => ((await this.#process.isReady()) ? true : undefined), {
      timeoutMs: 300_000,
    });
  }

  /** kill -9. */
  async kill(): Promise<void> {
    if (this.#process.child.running) this.kills += 1;
    await this.#process.kill();
  }

  /** Its wall clock jumps by an hour; nothing where it is only just starting, and would be ended by the signal. */
  stepClock(ahead: boolean): void {
    const { lines } = this.#process.child;
    if (!lines.some((line) => line.includes('"Started"'))) return;
    this.steps += 1;
    this.#process.child.signal(ahead ? "SIGUSR2" : "SIGHUP");
  }

  /** Whether it holds the lease; false too where it does not answer. */
  async leads(): Promise<boolean> {
    const metrics = await this.#process.metrics().catch(() => "");
    return /^compute_operator_leader 1$/m.test(metrics);
  }

  /** Ends of it that nobody brought about, each with its last words. */
  get deaths(): string[] {
    return this.#lives
      .filter((life) => !life.running && !life.killed)
      .map((life) => `an operator ended unexpectedly:\n${life.tail()}`);
  }

  /** Lines that hold any of these texts. */
  linesWith(texts: readonly string[]): string[] {
    return this.#lives.flatMap(({ lines }) => lines.filter((line) => texts.some((text) => line.includes(text))));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }
}
