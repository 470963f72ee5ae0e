import { serviceCommand } from "../../../src/service/command.ts";
import { seededRandom } from "../../simulation/random.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** The command in this process: what it writes, its end, and a way to end it. */
export class Running {
  readonly out: string[] = [];
  readonly err: string[] = [];
  readonly clock = new VirtualClock();
  readonly status: Promise<number>;
  readonly #stop = new AbortController();
  #onLine = () => {};

  constructor(...args: string[]) {
    this.status = serviceCommand(args, {
      clock: this.clock,
      random: seededRandom(1),
      signal: this.#stop.signal,
      env: {},
      self: { pid: 0, uid: 1, node: process.execPath },
      stdout: (line) => {
        this.out.push(line);
        this.#onLine();
      },
      stderr: (line) => this.err.push(line),
    });
  }

  /** Resolves with the base URL as soon as it listens. */
  async listening(): Promise<string> {
    const url = () => this.out.map((line) => /^Listening on (http:\/\/\S+\/api\/v2)$/.exec(line)?.[1]).find(Boolean);
    await Promise.race([
      this.status,
      new Promise<void>((resolve) => {
        this.#onLine = () => url() !== undefined && resolve();
        this.#onLine();
      }),
    ]);
    const found = url();
    if (found === undefined) throw new Error(`it does not listen: ${this.err.join("\n")}`);
    return found;
  }

  stop(): Promise<number> {
    this.#stop.abort();
    return this.status;
  }
}
