import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../support/guardian.ts";
import { type ProgramResult, runProgram } from "../../support/run-program.ts";

/** Runs programs that find host names in a hosts file of their own, in place of this machine's. Needs `unshare`. */
export class NamedHosts implements Disposable {
  readonly directory = temporaryDirectory("hosts");
  readonly #file = join(this.directory.path, "hosts");

  constructor(hosts: Readonly<Record<string, string>>) {
    writeFileSync(this.#file, "127.0.0.1 localhost\n");
    for (const [name, address] of Object.entries(hosts)) this.add(name, address);
  }

  add(name: string, address: string): void {
    appendFileSync(this.#file, `${address} ${name}\n`);
  }

  run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ProgramResult> {
    const script = 'mount --bind "$1" /etc/hosts && shift && exec "$@"';
    const space = process.getuid?.() === 0 ? ["--mount"] : ["--mount", "--map-root-user"];
    const home = { HOME: this.directory.path, PATH: process.env["PATH"] };
    return runProgram("unshare", [...space, "sh", "-c", script, "sh", this.#file, command, ...args], {
      env: { ...home, ...env },
    });
  }

  /** What a program prints, without the white space around it. Throws where it fails. */
  async output(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    const { status, stdout, stderr } = await this.run(command, args, env);
    if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr || stdout}`);
    return stdout.trim();
  }

  [Symbol.dispose](): void {
    this.directory.remove();
  }
}
