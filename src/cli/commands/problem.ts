/** The command cannot go on: each line says what is wrong, where, what is allowed and what to do. Exit status 1. */
export class CommandProblem extends Error {
  override name = "CommandProblem";
  readonly lines: readonly string[];
  /** Whether the flags are at fault, so that they are to be shown. */
  readonly aboutFlags: boolean;

  constructor(lines: readonly string[], options: { aboutFlags?: boolean; cause?: unknown } = {}) {
    super(lines.join("\n"), { cause: options.cause });
    this.lines = lines;
    this.aboutFlags = options.aboutFlags === true;
  }
}
