import { withFlags } from "../command-line.ts";
import { parseServiceFlags, serviceSyntax } from "./flags.ts";
import { cryptoIds } from "./ids.ts";
import type { Processes } from "./postgres/host/processes.ts";
import { systemProcesses } from "./postgres/host/system-processes.ts";
import { type RunPorts, runService } from "./run.ts";

/** `compute-operator service`: answers the exit status. */
export function serviceCommand(args: readonly string[], ports: ServiceCommandPorts): Promise<number> {
  const { self, ...rest } = ports;
  return withFlags(serviceSyntax, parseServiceFlags, args, ports, (options) =>
    runService(options, { ...rest, ids: cryptoIds(), processes: systemProcesses(self) }),
  );
}

/** The command's share of the process; `self` identifies the process. */
export type ServiceCommandPorts = Omit<RunPorts, "ids" | "processes"> & { self: Processes["self"] };
