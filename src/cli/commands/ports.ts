import type { Readable } from "node:stream";
import type { CommandPorts } from "../../operator/command.ts";
import type { ServiceTransport } from "../../operator/service-client/transport.ts";

/** What plan, apply and export are given of the process. */
export interface CliPorts extends Omit<CommandPorts, "random" | "newID" | "log" | "hostname"> {
  /** Where `-f -` reads manifests from, and `apply` an answer. */
  stdin: Readable & { isTTY?: boolean };
  /** Whether standard output goes to a person's terminal. */
  stdoutTerminal: boolean;
  /** In place of HTTP, for tests. */
  serviceTransport?: ServiceTransport;
}
