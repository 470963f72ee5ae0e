/** The command cannot continue. Each line says what is wrong, where, what is allowed and what to do. Exit status 1. */
export class CommandProblem extends Error {
  override name = "CommandProblem";
  readonly lines: readonly string[];

  constructor(lines: readonly string[], options: { cause?: unknown } = {}) {
    super(lines.join("\n"), options);
    this.lines = lines;
  }
}
