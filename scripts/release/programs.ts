import { systemPrograms } from "../../src/cli/commands/programs.ts";

/** Runs a program of the PATH; `undefined` if there is none of that name. */
export type Run = (
  program: string,
  args: readonly string[],
) => Promise<{ status: number; stdout: string; stderr: string } | undefined>;

const programs = systemPrograms(process.env);

export const run: Run = (program, args) => programs.run(program, args);
