import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { Child } from "../support/child.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { commandLines } from "../support/process-list.ts";

const main = join(import.meta.dirname, "..", "demo", "main.ts");

/** Runs of the demo, each test in a directory of its own: what they write lies below it, and each process names it. */
export class DemoRuns {
  #scratch: ReturnType<typeof temporaryDirectory> | undefined;

  constructor() {
    beforeEach(() => {
      this.#scratch = temporaryDirectory("demo");
    });
    afterEach(() => this.#scratch?.remove());
  }

  get env(): NodeJS.ProcessEnv {
    return { ...process.env, TMPDIR: this.#path };
  }

  start(...args: string[]): Promise<Child> {
    return Child.start({ name: "demo", command: process.execPath, args: [main, ...args], env: this.env });
  }

  /** Processes and files that are left. */
  left(): string[] {
    const files = readdirSync(this.#path).filter((name) => name.startsWith("compute-operator-"));
    return [
      ...commandLines().filter((line) => line.includes(this.#path)),
      // What claims ports expires.
      ...files.filter((name) => name !== "compute-operator-ports"),
    ];
  }

  get #path(): string {
    if (this.#scratch === undefined) throw new Error("a demo runs within a test");
    return this.#scratch.path;
  }
}
