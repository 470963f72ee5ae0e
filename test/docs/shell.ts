import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Child } from "../support/child.ts";
import { temporaryDirectory } from "../support/guardian.ts";

export interface Typed {
  status: number;
  output: string;
}

/** A shell of somebody who has installed what the documents take for granted. */
export class Shell implements Disposable {
  readonly #programs = temporaryDirectory("programs");
  readonly #env: NodeJS.ProcessEnv;
  /** Where it stands; the clone where left out. */
  readonly #directory: string;

  /** `programs`: the path of each by its name; `compute-operator` is there anyway, as a plugin of kubectl too. */
  constructor(programs: Readonly<Record<string, string>>, env: NodeJS.ProcessEnv, directory = process.cwd()) {
    const main = join(import.meta.dirname, "..", "..", "src", "main.ts");
    const quoted = (...words: string[]) => words.map((word) => `'${word}'`).join(" ");
    const lines = Object.entries(programs).map(([name, path]) => [name, quoted(path)] as const);
    const own = quoted(process.execPath, main);
    for (const [name, command] of [
      ...lines,
      ["compute-operator", own] as const,
      ["kubectl-compute_operator", own] as const,
    ]) {
      writeFileSync(join(this.#programs.path, name), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
    }
    this.#env = {
      ...process.env,
      PATH: `${this.#programs.path}${delimiter}${process.env["PATH"] ?? ""}`,
      // That in the home directory is keyed by host and port, which another control plane may have had before.
      KUBECACHEDIR: join(this.#programs.path, "kubectl-cache"),
      ...env,
    };
    this.#directory = directory;
  }

  /** Types a line and resolves with what came of it, whatever its status. */
  type(line: string): Promise<Typed> {
    const child = spawn("sh", ["-c", line], {
      stdio: ["ignore", "pipe", "pipe"],
      env: this.#env,
      cwd: this.#directory,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (status) => resolve({ status: status ?? 1, output }));
    });
  }

  /** Types a line whose command goes on until it is ended. */
  start(line: string): Promise<Child> {
    const inPlace = `cd '${this.#directory}' && exec ${line}`;
    return Child.start({ name: line, command: "sh", args: ["-c", inPlace], env: this.#env });
  }

  [Symbol.dispose](): void {
    this.#programs.remove();
  }
}
