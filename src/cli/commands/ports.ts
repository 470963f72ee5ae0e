import type { Readable } from "node:stream";
import type { CommandPorts } from "../../operator/command.ts";
import type { ClusterTransport } from "../../operator/kube/transport.ts";
import { printableLine } from "../../operator/objects/printable-line.ts";
import type { ServiceTransport } from "../../operator/service-client/transport.ts";
import type { Programs } from "./programs.ts";

/** The parts of the process that plan, apply and export use. */
export interface CliPorts extends Omit<CommandPorts, "random" | "newID" | "log" | "hostname"> {
  /** The input of `-f -` and of the question of `apply`. */
  stdin: Readable & { isTTY?: boolean };
  /** True if standard output is a terminal. */
  stdoutTerminal: boolean;
  programs: Programs;
  /** Replaces HTTP in tests. */
  serviceTransport?: ServiceTransport;
  clusterTransport?: ClusterTransport;
}

/** The command cannot continue. Each line says what is wrong, where, what is allowed and what to do. Exit status 1. */
export class CommandProblem extends Error {
  override name = "CommandProblem";
  readonly lines: readonly string[];

  constructor(lines: readonly string[], options: { cause?: unknown } = {}) {
    super(lines.join("\n"), options);
    this.lines = lines;
  }
}

/** Writes a line to standard error. A line break in a manifest or an answer would begin another, as a command of CI. */
export function complain({ stderr }: Pick<CliPorts, "stderr">, by: string, text: string): void {
  stderr(`${by}: ${printableLine(text)}`);
}

/** Asks a person for a yes. Throws `CommandProblem` if the answer is another, or if nobody can be asked. */
export async function askForYes(question: string, whyNot: string, { stdin, stdout, signal }: CliPorts): Promise<void> {
  if (stdin.isTTY !== true) throw new CommandProblem([`standard input is not a terminal, so ${whyNot}`]);
  stdout(`${question} Type "yes": `);
  if ((await readLine(stdin, signal)) !== "yes") throw new CommandProblem(["nothing was sent"]);
}

/** The first line that a person types; empty if standard input ends or the command is aborted. */
export async function readLine(stdin: Readable, signal: AbortSignal): Promise<string> {
  const onAbort = () => stdin.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  let text = "";
  try {
    for await (const part of stdin) {
      text += Buffer.from(part).toString("utf8");
      if (text.includes("\n")) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return "";
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  return (text.split("\n")[0] ?? "").trim();
}
