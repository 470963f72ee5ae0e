import { givenAccount } from "./accounts.ts";
import { exportProject } from "./export.ts";
import { exportUsage, parseExportFlags, parsePlanFlags, planUsage } from "./flags.ts";
import { forecastOf, hasChanges, hasProblems } from "./forecast.ts";
import { foresee } from "./foresee.ts";
import type { CliPorts } from "./ports.ts";
import { prepare, withTransport } from "./prepare.ts";
import { CommandProblem } from "./problem.ts";
import { renderPlan } from "./render.ts";
import { clientFor } from "./survey.ts";

/** `compute-operator plan`: answers the exit status, 0 for nothing to do, 2 for changes, 1 for an error. */
export function planCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  return reporting("plan", planUsage, ports, async () => {
    const flags = parsePlanFlags(args);
    if (flags.help) return help(planUsage, ports);
    return withTransport(ports, async (transport) => {
      const { survey, tracked } = await prepare({ ...flags, createSettleMs: 60_000 }, ports, transport);
      await survey.look();
      const forecasts = tracked.map((each) => forecastOf(foresee(survey, each), each));
      ports.stdout(renderPlan(forecasts, flags.output, ports.stdoutTerminal && ports.env.NO_COLOR === undefined));
      if (hasProblems(forecasts)) return 1;
      return hasChanges(forecasts) ? 2 : 0;
    });
  });
}

/** `compute-operator export`: answers the exit status. */
export function exportCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  return reporting("export", exportUsage, ports, async () => {
    const flags = parseExportFlags(args);
    if (flags.help) return help(exportUsage, ports);
    return withTransport(ports, async (transport) => {
      const account = givenAccount({ baseURL: flags.baseURL, env: ports.env });
      const client = clientFor(account, { transport, clock: ports.clock });
      const { yaml, skipped } = await exportProject(flags, client, ports.signal);
      if (yaml !== "") ports.stdout(yaml);
      for (const line of skipped) ports.stderr(`compute-operator export: ${line}`);
      return 0;
    });
  });
}

/** Prints usage on request. */
function help(usage: string, ports: CliPorts): number {
  ports.stdout(usage);
  return 0;
}

/** Turns what keeps a command from its work into lines on standard error and exit status 1. */
async function reporting(
  name: string,
  usage: string,
  ports: CliPorts,
  command: () => Promise<number>,
): Promise<number> {
  try {
    return await command();
  } catch (error) {
    if (ports.signal.aborted) {
      ports.stderr(`compute-operator ${name}: called off`);
      return 1;
    }
    if (!(error instanceof CommandProblem)) throw error;
    for (const line of error.lines) ports.stderr(`compute-operator ${name}: ${line}`);
    if (error.aboutFlags) ports.stderr(`\n${usage}`);
    return 1;
  }
}
