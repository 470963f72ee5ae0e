import type { Readable } from "node:stream";
import type { CommandPorts } from "../../operator/command.ts";
import type { ServiceTransport } from "../../operator/service-client/transport.ts";

/** What plan, apply and export receive from the process. */
export interface CliPorts extends Omit<CommandPorts, "random" | "newID" | "log" | "hostname"> {
  /** The input of `-f -` and of the question of `apply`. */
  stdin: Readable & { isTTY?: boolean };
  /** Whether standard output is a terminal. */
  stdoutTerminal: boolean;
  /** Replaces HTTP in tests. */
  serviceTransport?: ServiceTransport;
}
