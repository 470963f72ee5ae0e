import { z } from "zod";
import { type Command, flag, newCommand, parsed } from "../../command-line.ts";
import { duration } from "../../operator/flags.ts";
import type { ClusterFlags } from "../commands/cluster.ts";
import { onlyName } from "../commands/flags.ts";

/** The object that a command is about. */
export interface Target extends ClusterFlags {
  /** NAME or KIND/NAME. */
  name: string;
}

const ofTarget = {
  namespace: z.string().optional(),
  kubeconfig: z.string().optional(),
  context: z.string().optional(),
};

function objectCommand(verb: string, about: string, usage = "NAME [flags]"): Command {
  return newCommand(verb, about, { usage })
    .argument("[name...]", "the name of the object, or KIND/NAME such as branch/pr-1")
    .option("-n, --namespace <NAME>", "its namespace (default: the context's, else default)")
    .option("--kubeconfig <FILE>", "the cluster that this file names (default: as kubectl)")
    .option("--context <NAME>", "the cluster of this context, instead of the current one");
}

const waiting = (command: Command, what: string): Command =>
  command
    .option("--wait", `wait until ${what}`, false)
    .addOption(flag("--timeout <DURATION>", "how long to wait", duration()).default(300_000, "5m"));

const longestPauseDays = 999;

export const statusSyntax = objectCommand(
  "status",
  "Shows on one screen what a Compute, pool, branch or connection is, since when, why, and what comes next.",
);

export const psqlSyntax = objectCommand(
  "psql",
  "Connects with psql, with what the connection Secret of a Compute holds. The first connection wakes a suspended compute.",
  "NAME [flags] [-- ARGUMENTS OF PSQL]",
).option("--pooled", "through the service's connection pooler", false);

export const restartSyntax = waiting(
  objectCommand(
    "restart",
    "Restarts a Compute's compute, or those of a pool one after another, which cuts their connections: sets the annotation restartedAt.",
  ),
  "the restart is carried out",
);

export const pauseSyntax = objectCommand(
  "pause",
  "Keeps the operator from sending anything for a Compute or a branch: sets the annotation paused.",
).addOption(
  flag("--for <DURATION>", "how long, such as 30m or 8h; without it until resume", duration(longestPauseDays)),
);

export const resumeSyntax = objectCommand("resume", "Ends a pause: removes the annotation paused.");

export const disruptSyntax = objectCommand(
  "disrupt",
  "Lets the operator cut the connections of a Compute for a while, outside its windows: sets the annotation disruptionUntil. Changes that wait for a window are then sent.",
  "NAME --for DURATION [flags]",
).addOption(flag("--for <DURATION>", "for how long, such as 30m or 2h", duration(longestPauseDays)));

export const resetSyntax = waiting(
  objectCommand(
    "reset",
    "Resets a Branch to the head of its parent, which drops what was written to it. Asks first.",
  ).option("--yes", "do not ask; required if standard input is not a terminal", false),
  "the reset is carried out",
);

export const pluginSyntaxes = [
  statusSyntax,
  psqlSyntax,
  restartSyntax,
  pauseSyntax,
  resumeSyntax,
  disruptSyntax,
  resetSyntax,
];

/** The arguments before `--`, and those after it, which are another program's. */
export function splitAtDoubleDash(args: readonly string[]): { own: readonly string[]; others: readonly string[] } {
  const at = args.indexOf("--");
  return at === -1 ? { own: args, others: [] } : { own: args.slice(0, at), others: args.slice(at + 1) };
}

/** The target and the flags of a command of its own. Throws `BadFlag`. */
export function parseTarget<Shape extends z.ZodRawShape>(syntax: Command, args: readonly string[], own: Shape) {
  const values = parsed(syntax, args, { ...ofTarget, ...own });
  return { ...values, name: onlyName(syntax.args, "object") };
}
