/** Programs by the word that names them. */
export type Programs = Readonly<Record<string, () => Promise<unknown>>>;

/**
 * Runs the program that the first word of the command line names, which sees only the words after it. Any other command
 * line is that of `main`.
 */
export async function runNamed(programs: Programs, main: () => Promise<unknown>): Promise<void> {
  const [, , name = ""] = process.argv;
  const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
  if (program !== undefined) process.argv.splice(2, 1);
  await (program ?? main)();
}
