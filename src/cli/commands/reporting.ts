import { type Command, withFlags } from "../../command-line.ts";
import { type CliPorts, CommandProblem, complain } from "./ports.ts";

/**
 * Runs a command with its flags; returns its exit status. A `CommandProblem`, an interruption included, becomes lines
 * on standard error and exit status 1; any other error is a defect and is thrown.
 */
export function reporting<Flags>(
  syntax: Command,
  read: (args: readonly string[]) => Flags,
  args: readonly string[],
  ports: CliPorts,
  run: (flags: Flags) => Promise<number>,
): Promise<number> {
  return withFlags(syntax, read, args, ports, async (flags) => {
    try {
      return await run(flags);
    } catch (error) {
      const problem = ports.signal.aborted ? new CommandProblem(["interrupted"]) : error;
      if (!(problem instanceof CommandProblem)) throw error;
      for (const text of problem.lines) complain(ports, syntax.name(), text);
      return 1;
    }
  });
}
