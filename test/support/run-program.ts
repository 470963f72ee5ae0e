import { spawn } from "node:child_process";
import { startWithUs } from "./guardian.ts";

/** What a program gave. */
export interface ProgramResult {
  status: number;
  stdout: string;
  stderr: string;
}

/** Runs a program, with `input` on its standard input; resolves with what it gave, whatever its exit status. */
export function runProgram(
  command: string,
  args: readonly string[],
  { input = "", env = process.env }: { input?: string | undefined; env?: NodeJS.ProcessEnv } = {},
): Promise<ProgramResult> {
  const child = startWithUs((own) => spawn(command, args, { ...own, stdio: ["pipe", "pipe", "pipe"], env }));
  const result = { status: 0, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    result.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    result.stderr += text;
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(new Error(`${command} cannot be run: ${error.message}`)));
    child.once("close", (status) => resolve({ ...result, status: status ?? 1 }));
  });
}
