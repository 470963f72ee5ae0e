import { elapsed, type ServiceClock } from "../../clock.ts";
import type { GuardedServer, Processes, ProcessUser } from "./processes.ts";

/** Interval of the checks whether a program that starts is ready, in milliseconds. */
const pollMs = 10;

export interface ProgramPorts {
  processes: Processes;
  clock: ServiceClock;
  user: ProcessUser | undefined;
}

/** A program under its guardian, from its start to its end. */
export class GuardedProgram {
  /** Resolves when the process is gone. */
  readonly ended: Promise<void>;
  readonly #guarded: GuardedServer;
  readonly #followers = new Set<() => void>();
  #running = true;

  constructor(guarded: GuardedServer) {
    this.#guarded = guarded;
    this.ended = this.#untilEnd();
  }

  get running(): boolean {
    return this.#running;
  }

  /** Calls `follower` at its end, at once where it has ended, unless the returned function is called first. */
  onEnd(follower: () => void): () => void {
    if (!this.#running) follower();
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Has it shut down in order: clients are disconnected. Resolves when the process is gone. */
  async stop(): Promise<void> {
    this.#guarded.stop();
    await this.ended;
  }

  /**
   * Resolves with `slow` when it is not ready and has made no progress within `limitMs`, and runs on. The clock of the
   * machine may be set meanwhile, as soon after its boot.
   */
  async whenReady(
    isReady: () => Promise<boolean>,
    clock: ServiceClock,
    limitMs: number,
    progress = async () => "",
  ): Promise<"ready" | "slow" | "ended"> {
    let isLate = false;
    const limit = () =>
      clock.after(limitMs, () => {
        isLate = true;
      });
    let [stopTimer, seen] = [limit(), await progress()];
    try {
      while (this.#running) {
        if (await isReady()) return "ready";
        if (isLate) {
          const before = seen;
          seen = await progress();
          if (seen === before) return "slow";
          [isLate, stopTimer] = [false, limit()];
        }
        await Promise.race([this.ended, elapsed(clock, pollMs)]);
      }
      return "ended";
    } finally {
      stopTimer();
    }
  }

  async #untilEnd(): Promise<void> {
    await this.#guarded.ended;
    this.#running = false;
    for (const follower of this.#followers) follower();
  }
}
