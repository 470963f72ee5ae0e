import { writeFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

/** Writes `PASSED FAILED` to a file for .ci/run. A test that was skipped has not passed, so it counts as failed. */
export class CountReporter implements Reporter {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0;
    let failed = unhandledErrors.length;
    for (const module of modules) {
      const tests = [...module.children.allTests()];
      const good = tests.filter((test) => test.result().state === "passed").length;
      passed += good;
      failed += tests.length - good;
      // A file that breaks before its first test would otherwise count for nothing.
      if (tests.length === 0 && !module.ok()) failed += 1;
    }
    writeFileSync(this.#file, `${passed} ${failed}\n`);
  }
}
