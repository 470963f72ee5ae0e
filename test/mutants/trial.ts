import type { Mutant } from "./instrument.ts";
import { type Caught, isLate, type Request } from "./messages.ts";
import type { Coverage, MeasuredFile, Trial } from "./plan.ts";
import { WorkerProcess } from "./process.ts";

/** What became of a mutant. */
export interface Verdict {
  outcome: "caught" | "survived" | "not reached";
  /** What caught it first. */
  by?: string;
}

/** A process that many mutants have been in may be worn out. */
const mostMutants = 300;

/** Measures which tests reach which mutants, on several processes. */
export async function measureAll(
  sourcesFile: string,
  files: readonly string[],
  workers: number,
  say: (line: string) => void,
): Promise<MeasuredFile[]> {
  const measured: MeasuredFile[] = [];
  const waiting = [...files];
  const work = async () => {
    const process = new WorkerProcess(sourcesFile);
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const reply = await process.ask({ kind: "measure", file });
      if (reply === "silent" || reply === "died" || reply.kind !== "measured")
        throw new Error(`${file} cannot be measured: ${JSON.stringify(reply)} ${process.said}`);
      if (reply.failure !== undefined) say(`${file} cannot be loaded, and is left out: ${reply.failure}`);
      const failed = reply.tests.filter(({ failure }) => failure !== undefined);
      if (failed.length > 0)
        say(`${file}: ${failed.length} of ${reply.tests.length} tests are left out: ${failed[0]?.failure}`);
      measured.push({ file, tests: reply.tests, atLoad: reply.atLoad });
    }
    process.kill();
  };
  await Promise.all(Array.from({ length: workers }, work));
  return measured;
}

/** Tries mutants one after another in a process that stays. */
export class Trials {
  readonly #sourcesFile: string;
  readonly #coverage: Coverage;
  readonly #patienceMs: number;
  #process: WorkerProcess | undefined;
  #tried = 0;

  constructor(sourcesFile: string, coverage: Coverage, patienceMs: number) {
    this.#sourcesFile = sourcesFile;
    this.#coverage = coverage;
    this.#patienceMs = patienceMs;
  }

  async try(mutant: Mutant): Promise<Verdict> {
    const trials = this.#coverage.trialsFor(mutant, this.#patienceMs);
    const atLoad = this.#coverage.isReachedAtLoad(mutant);
    if (trials.length === 0 && !atLoad) return { outcome: "not reached" };
    const verdict = trials.length > 0 ? await this.#tryWhileRunning(mutant, trials) : undefined;
    if (verdict?.outcome === "caught" || !atLoad) return verdict ?? { outcome: "survived" };
    return this.#tryFromLoad(mutant);
  }

  end(): void {
    this.#process?.kill();
    this.#process = undefined;
    this.#tried = 0;
  }

  async #tryWhileRunning(mutant: Mutant, trials: readonly Trial[]): Promise<Verdict> {
    for (let attempt = 1; ; attempt++) {
      const isFresh = this.#process === undefined;
      this.#process ??= new WorkerProcess(this.#sourcesFile);
      const reply = await this.#process.ask(this.#trialOf(mutant, trials));
      if (reply === "silent" || reply === "died" || reply.kind !== "tried") {
        const how = reply === "silent" ? "turned in circles" : "the process ended";
        this.end();
        return { outcome: "caught", by: how };
      }
      this.#tried += 1;
      const { caught, spoilt } = reply;
      if (spoilt || (caught !== undefined && isLate(caught.how)) || this.#tried >= mostMutants) this.end();
      if (caught === undefined) return { outcome: "survived" };
      // Another mutant may have left something behind that fails the test: a fresh process tells.
      if (spoilt && !isFresh && attempt === 1) continue;
      return this.#caught(mutant, caught);
    }
  }

  async #tryFromLoad(mutant: Mutant): Promise<Verdict> {
    const process = new WorkerProcess(this.#sourcesFile, mutant.id);
    const tests = this.#coverage.trialsForFile(mutant, this.#patienceMs);
    const reply = await process.ask(this.#trialOf(mutant, tests));
    process.kill();
    if (reply === "silent" || reply === "died" || reply.kind !== "tried")
      return { outcome: "caught", by: "fails while it is loaded" };
    return reply.caught === undefined ? { outcome: "survived" } : this.#caught(mutant, reply.caught);
  }

  #trialOf({ id: mutant }: Mutant, tests: readonly Trial[]): Request {
    return { kind: "try", mutant, tests: [...tests] };
  }

  #caught(mutant: Mutant, by: Caught): Verdict {
    this.#coverage.caught(mutant, by);
    return { outcome: "caught", by: `${by.file}: ${by.name}: ${by.how}` };
  }
}
