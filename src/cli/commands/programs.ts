import { spawn } from "node:child_process";

/** The end of a program and what it wrote. */
export interface Ended {
  status: number;
  stdout: string;
  stderr: string;
}

/** Other programs of this machine, found on the PATH. Each call answers `undefined` if there is none of that name. */
export interface Programs {
  /** Runs a program without input. */
  run(program: string, args: readonly string[]): Promise<Ended | undefined>;
  /** Hands the terminal over to a program, with more environment variables; answers its exit status. */
  handOver(
    program: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<number | undefined>;
}

export function systemPrograms(env: Readonly<Record<string, string | undefined>>): Programs {
  return {
    run: (program, args) =>
      new Promise((resolve, reject) => {
        const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...env } });
        const parts = { stdout: "", stderr: "" };
        for (const name of ["stdout", "stderr"] as const) {
          child[name].setEncoding("utf8").on("data", (text: string) => {
            parts[name] += text;
          });
        }
        child.once("error", (error) => (isMissing(error) ? resolve(undefined) : reject(error)));
        child.once("close", (status) => resolve({ status: status ?? 1, ...parts }));
      }),
    handOver: (program, args, more) =>
      new Promise((resolve, reject) => {
        const child = spawn(program, args, { stdio: "inherit", env: { ...env, ...more } });
        child.once("error", (error) => (isMissing(error) ? resolve(undefined) : reject(error)));
        child.once("close", (status) => resolve(status ?? 1));
      }),
  };
}

function isMissing(error: NodeJS.ErrnoException): boolean {
  return error.code === "ENOENT";
}
