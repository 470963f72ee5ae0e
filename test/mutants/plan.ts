import { globSync } from "node:fs";
import { dirname } from "node:path";
import type { Mutant } from "./instrument.ts";
import type { Measured, TestId } from "./messages.ts";

/** The runs of the simulation, which are in no file. */
export const seedsFile = "seeds";

/** Sources and the tests that may catch their mutants: those of `npm test` that need no process but this one. */
export interface Part {
  name: "operator" | "service";
  sources: string[];
  tests: string[];
}

/** The programs, each with its tests. The operator's tests use the service, and show little of it. */
export function programs(): Part[] {
  return [
    { name: "operator", sources: found(["src/{operator,cli}/**/*.ts"]), tests: [...testsOfOperator(), seedsFile] },
    // The table of the public API is generated.
    {
      name: "service",
      sources: found(["src/service/**/*.ts"], ["src/service/http/public-operations.ts"]),
      tests: testsOfService(),
    },
  ];
}

function testsOfOperator(): string[] {
  // The generated pages are made from tables in the sources.
  return found(
    ["test/{api,cli,integration,operator,simulation}/**/*.test.ts", "test/checks/crds.test.ts"],
    [
      // Processes and threads of their own, which no mutant reaches.
      "test/cli/commands.processes.test.ts",
      "test/cli/commands.page.test.ts",
      "test/simulation/seeds.test.ts",
      // Minutes for what others show in seconds.
      "test/simulation/planted-bugs.test.ts",
      "test/simulation/hostile-tenant.test.ts",
      "test/simulation/cleanup-fairness.test.ts",
    ],
  );
}

function testsOfService(): string[] {
  return found(
    ["test/service/**/*.test.ts", "test/api/*.test.ts"],
    [
      // Minutes for what others show in seconds.
      "test/service/http.fuzz.test.ts",
      // Programs of others, which no mutant reaches.
      "test/service/vendor/terraform.test.ts",
    ],
  );
}

function found(patterns: string[], leftOut: readonly string[] = []): string[] {
  const files = globSync(patterns, { exclude: ["**/*.cluster.test.ts", "**/*.verify.test.ts"] });
  return files.filter((file) => !leftOut.includes(file)).toSorted();
}

export interface MeasuredFile {
  file: string;
  tests: readonly Measured[];
  atLoad: readonly number[];
}

export interface Trial extends TestId {
  limitMs: number;
  calls: number;
  ms: number;
}

/** How long a test may take with a mutant: far longer than without, on a busy machine too. */
const limitOf = ({ wallMs }: Measured) => Math.round(4000 + 20 * wallMs);

/** Knows which tests reach which mutant, and in what order to run them. */
export class Coverage {
  readonly #byMutant = new Map<number, Trial[]>();
  readonly #byFile = new Map<string, Map<string, Trial>>();
  readonly #all: Trial[] = [];
  readonly #atLoad = new Set<number>();
  /** Tests that caught another mutant of the same source lately. */
  readonly #lately = new Map<string, string[]>();

  constructor(mutants: readonly Mutant[], measured: readonly MeasuredFile[]) {
    const fileOf = new Map(mutants.map(({ id, file }) => [id, file]));
    for (const { file, tests, atLoad } of measured) {
      for (const id of atLoad) this.#atLoad.add(id);
      for (const test of tests) {
        if (test.failure !== undefined) continue;
        const trial = { file, index: test.index, limitMs: limitOf(test), calls: test.calls, ms: test.ms };
        for (const id of test.reached) {
          add(this.#byMutant, id, trial);
          const source = fileOf.get(id) ?? "";
          const known = this.#byFile.get(source) ?? new Map<string, Trial>();
          this.#byFile.set(source, known.set(nameOf(trial), trial));
        }
        this.#all.push(trial);
      }
    }
  }

  isReachedAtLoad({ id }: Mutant): boolean {
    return this.#atLoad.has(id);
  }

  /** The tests that reach a mutant while they run, the quickest first, for so many milliseconds in all. */
  trialsFor({ id, file }: Mutant, patienceMs: number): Trial[] {
    return within(patienceMs, this.#ordered(file, this.#byMutant.get(id) ?? []));
  }

  /**
   * The tests that reach anything of the mutant's file, and those that are named after it or its folder: code that runs
   * while modules are loaded has no tests of its own, and a table runs no other.
   */
  trialsForFile({ file }: Mutant, patienceMs: number): Trial[] {
    const reaching = this.#byFile.get(file) ?? new Map<string, Trial>();
    const ofFolder = `${dirname(file).replace(/^src/, "test")}.test.ts`;
    const isNamed = (trial: Trial) => isNamedAfter(file, trial) || trial.file === ofFolder;
    const named = this.#all.filter((trial) => isNamed(trial) && !reaching.has(nameOf(trial)));
    return within(patienceMs, this.#ordered(file, [...reaching.values(), ...named]));
  }

  caught({ file }: Mutant, by: TestId): void {
    const lately = this.#lately.get(file) ?? [];
    this.#lately.set(file, [nameOf(by), ...lately.filter((name) => name !== nameOf(by))].slice(0, 8));
  }

  /**
   * Quick ones first. A test of the source's room counts as quicker, one that is named after the source as quicker
   * still, and each further test of another file as slower.
   */
  #ordered(file: string, trials: readonly Trial[]): Trial[] {
    const lately = this.#lately.get(file) ?? [];
    const room = dirname(file).replace(/^src/, "test");
    const isOwn = (trial: Trial) => isNamedAfter(file, trial);
    const worth = (trial: Trial) =>
      isOwn(trial) ? 40 : lately.includes(nameOf(trial)) ? 20 : isOf(room, trial) ? 10 : 1;
    const cost = (trial: Trial) => trial.ms / worth(trial);
    const before = new Map<string, number>();
    const weighed = trials
      .toSorted((a, b) => cost(a) - cost(b))
      .map((trial) => {
        const number = (before.get(trial.file) ?? 0) + 1;
        before.set(trial.file, number);
        return { trial, cost: cost(trial) * (isOwn(trial) ? 1 : number) };
      });
    return weighed.toSorted((a, b) => a.cost - b.cost).map(({ trial }) => trial);
  }
}

/** Adds to the values of a key. */
function add<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}

function nameOf({ file, index }: TestId): string {
  return `${file}#${index}`;
}

/** True of a test whose file begins with the name of a source. A folder may stand in it as `folder.`. */
function isNamedAfter(source: string, { file }: TestId): boolean {
  const name = source.replace(/^src/, "test").replace(/ts$/, "");
  return file.replaceAll("/", ".").startsWith(name.replaceAll("/", "."));
}

/** True of a test in the folder of a room, or whose name begins with the room's. */
function isOf(room: string, { file }: TestId): boolean {
  return file.startsWith(`${room}/`) || file.startsWith(`${room}.`);
}

function within(patienceMs: number, trials: readonly Trial[]): Trial[] {
  let spent = 0;
  return trials.filter(({ ms }, index) => {
    spent += ms;
    return index === 0 || spent <= patienceMs;
  });
}
