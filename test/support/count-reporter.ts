import { appendFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Reporter, TestCase, TestModule } from "vitest/node";

/**
 * Writes `PASSED FAILED` to a file for .ci/run, and below it a line for each failure, so that .ci/run can close with
 * them. A test that was skipped has not passed, so it counts as failed.
 */
export class CountReporter implements Reporter {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const failures = unhandledErrors.map((error) => `outside of a test: ${inOneLine(error)}`);
    let passed = 0;
    for (const module of modules) {
      const file = relative(process.cwd(), module.moduleId);
      const tests = [...module.children.allTests()];
      const failed = tests.filter((test) => test.result().state !== "passed");
      passed += tests.length - failed.length;
      failures.push(...failed.map((test) => `${file} > ${test.fullName}: ${whyOf(test)}`));
      // A file that breaks before its first test would otherwise count for nothing.
      if (tests.length === 0 && !module.ok()) failures.push(`${file}: ${inOneLine(module.errors()[0])}`);
    }
    writeFileSync(this.#file, `${passed} ${failures.length}\n`);
    for (const failure of failures) appendFileSync(this.#file, `${failure}\n`);
  }
}

function whyOf(test: TestCase): string {
  const { state, errors = [] } = test.result();
  return state === "failed" ? inOneLine(errors[0]) : state;
}

function inOneLine(error: unknown): string {
  const message = error instanceof Object && "message" in error ? String(error.message) : String(error);
  return stripVTControlCharacters(message).replaceAll(/\s+/g, " ").slice(0, 600);
}
