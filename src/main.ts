#!/usr/bin/env node
import { randomUUID } from "node:crypto";
import { hostname, userInfo } from "node:os";
import manifest from "../package.json" with { type: "json" };
import type { CliPorts } from "./cli/commands/ports.ts";
import { systemPrograms } from "./cli/commands/programs.ts";
import type { CommandPorts } from "./operator/command.ts";
import type { Clock } from "./operator/runtime/clock.ts";
import type { ServiceCommandPorts } from "./service/command.ts";

// Start reading at operator/compute/plan/plan.ts, which decides, operator/compute/reconciler.ts, one reconcile, and
// service/service.ts, the service. CONTRIBUTING.md has the reading order.

/** Loaded on demand, so that each command starts fast. */
type Ports = CommandPorts & CliPorts & ServiceCommandPorts;
type Command = (args: readonly string[], ports: Ports) => Promise<number>;

/** Loaded only when asked for, so that each starts as fast as it can. */
const commands: Record<string, { summary: string; load: () => Promise<Command> }> = {
  run: {
    summary: "run the operator in or beside a cluster",
    load: async () => (await import("./operator/command.ts")).runCommand,
  },
  plan: {
    summary: "show what the operator would do to the service for these manifests",
    load: async () => (await import("./cli/commands/command.ts")).planCommand,
  },
  apply: {
    summary: "carry the plan out once and wait; needs no cluster",
    load: async () => (await import("./cli/commands/command.ts")).applyCommand,
  },
  connection: {
    summary: "print what an application connects with, without a cluster",
    load: async () => (await import("./cli/commands/connection.ts")).connectionCommand,
  },
  export: {
    summary: "print manifests for the computes that a project has",
    load: async () => (await import("./cli/commands/command.ts")).exportCommand,
  },
  status: {
    summary: "show what an object is, why, and what comes next",
    load: async () => (await import("./cli/plugin/commands.ts")).statusCommand,
  },
  psql: {
    summary: "connect with psql to a Compute's database",
    load: async () => (await import("./cli/plugin/commands.ts")).psqlCommand,
  },
  restart: {
    summary: "restart a Compute's compute",
    load: async () => (await import("./cli/plugin/commands.ts")).restartCommand,
  },
  pause: {
    summary: "keep the operator from sending anything for a Compute or a branch",
    load: async () => (await import("./cli/plugin/commands.ts")).pauseCommand,
  },
  resume: { summary: "end a pause", load: async () => (await import("./cli/plugin/commands.ts")).resumeCommand },
  disrupt: {
    summary: "let changes cut a Compute's connections for a while, outside its windows",
    load: async () => (await import("./cli/plugin/commands.ts")).disruptCommand,
  },
  reset: {
    summary: "reset a Branch to the head of its parent",
    load: async () => (await import("./cli/plugin/commands.ts")).resetCommand,
  },
  crds: { summary: "print the CRDs as YAML", load: async () => (await import("./operator/command.ts")).crdsCommand },
  service: { summary: "run the service itself, for tests and demos", load: loadService },
  completion: { summary: "print the completion of commands and flags for bash, zsh or fish", load: loadCompletion },
};

/** The service is a bundle of its own: the image of the operator has none. */
async function loadService(): Promise<Command> {
  try {
    return (await import("./service/command.ts")).serviceCommand;
  } catch (error) {
    const isMissing = error instanceof Error && "url" in error && String(error.url).endsWith("/service.js");
    if (!isMissing) throw error;
    return async (_, { stderr }) => {
      stderr(
        "compute-operator service: the service is not part of the operator's image. It has an image of its own, the target `service` of the Dockerfile, and is part of the npm package.",
      );
      return 1;
    };
  }
}

async function loadCompletion(): Promise<Command> {
  const [{ completionCommand, completionSyntax }, { runSyntax, crdsSyntax }, cli, plugin, { serviceSyntax }] =
    await Promise.all([
      import("./cli/commands/completion.ts"),
      import("./operator/flags.ts"),
      import("./cli/commands/flags.ts"),
      import("./cli/plugin/flags.ts"),
      import("./service/flags.ts"),
    ]);
  const syntaxes = [
    runSyntax,
    cli.planSyntax,
    cli.applySyntax,
    cli.connectionSyntax,
    cli.exportSyntax,
    ...plugin.pluginSyntaxes,
    crdsSyntax,
    serviceSyntax,
    completionSyntax,
  ];
  return (args, ports) => completionCommand(args, ports, syntaxes);
}

const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
};

async function main([name = "", ...args]: readonly string[]): Promise<number> {
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());
  const ports: Ports = {
    clock,
    random: Math.random,
    newID: randomUUID,
    log: process.stderr,
    terminal: process.stderr.isTTY,
    env: process.env,
    hostname: hostname(),
    stdout: (line) => process.stdout.write(`${line}\n`),
    stderr: (line) => process.stderr.write(`${line}\n`),
    signal: stopping.signal,
    stdin: process.stdin,
    stdoutTerminal: process.stdout.isTTY,
    programs: systemPrograms(process.env),
    self: { pid: process.pid, uid: process.getuid?.() ?? -1, user: ownUser(), node: process.execPath },
  };
  const asked = name === "help" ? args[0] : undefined;
  const command = commands[asked ?? name];
  if (command) return (await command.load())(asked === undefined ? args : ["--help"], ports);
  const width = Math.max(...Object.keys(commands).map(({ length }) => length));
  const list = Object.entries(commands).map(([known, { summary }]) => `  ${known.padEnd(width)}  ${summary}`);
  const usage = `Usage: compute-operator COMMAND [flags]\n\n${list.join("\n")}\n\ncompute-operator help COMMAND shows the flags of a command,\ncompute-operator --version the version.`;
  if (name === "--version") {
    ports.stdout(`compute-operator ${manifest.version}`);
    return 0;
  }
  if (name === "--help" || name === "-h" || (name === "help" && asked === undefined)) {
    ports.stdout(usage);
    return 0;
  }
  const unknown = `compute-operator: there is no command ${JSON.stringify(asked ?? name)}. See compute-operator --help`;
  ports.stderr(name === "" ? usage : unknown);
  return 1;
}

/** Name of this process's user; `undefined` for a number without a name, as containers have it. */
function ownUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

// A log on a full disk, or whose reader has ended, takes no line, and must not end what is served.
process.stderr.on("error", () => {});
process.stdout.on("error", (error) => {
  if (process.argv[2] !== "service") throw error;
});

process.exitCode = await main(process.argv.slice(2));
