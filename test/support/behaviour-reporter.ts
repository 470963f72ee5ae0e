import { appendFileSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Reporter, TestModule, Vitest } from "vitest/node";
import { behavioursIn, unproved } from "./behaviour.ts";

const root = join(import.meta.dirname, "..", "..");

/** The pages that name the tests that prove what they say. */
const pages = ["service-behaviour.md", "attacks.md"] as const;

/** Fails a run that does not bear out one of these pages: each test that it names must exist and pass. */
export class BehaviourReporter implements Reporter {
  readonly #failures: string | undefined;
  #vitest: Vitest | undefined;

  /** `failures` is the file to which each problem is appended, for .ci/run. */
  constructor(failures?: string) {
    this.#failures = failures;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    // A run of single tests by name leaves out the others on purpose.
    if (this.#vitest?.config.testNamePattern !== undefined) return;
    const ran = new Map(
      modules.map((module) => [
        relative(join(root, "test"), module.moduleId).replaceAll("\\", "/"),
        new Map([...module.children.allTests()].map((test) => [test.fullName, test.result().state === "passed"])),
      ]),
    );
    for (const page of pages) {
      const problems = unproved(behavioursIn(readFileSync(join(root, "docs", "proof", page), "utf8")), ran);
      if (problems.length === 0) continue;
      console.error(`docs/proof/${page} is not borne out:\n  ${problems.join("\n  ")}`);
      if (this.#failures !== undefined) {
        appendFileSync(this.#failures, problems.map((problem) => `docs/proof/${page}: ${problem}\n`).join(""));
      }
      process.exitCode = 1;
    }
  }
}
