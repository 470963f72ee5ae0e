import { z } from "zod";
import { BadFlag, type Command } from "../../command-line.ts";
import { shownCondition, timestamp } from "../../operator/objects/conditions-of.ts";
import { printableLine } from "../../operator/objects/printable-line.ts";
import { sameJSON } from "../../operator/objects/record.ts";
import { annotation } from "../../operator/resources/annotation.ts";
import { type ComputePool, memberName } from "../../operator/resources/compute-pool.ts";
import { isObserved } from "../../operator/resources/management-policy.ts";
import { annotations } from "../../operator/resources/names.ts";
import { pausedForMs } from "../../operator/resources/pause.ts";
import type { CommandCluster } from "../commands/cluster.ts";
import { askForYes, type CliPorts, CommandProblem } from "../commands/ports.ts";
import { repeat } from "../commands/repeat.ts";
import { reporting } from "../commands/reporting.ts";
import {
  disruptSyntax,
  parseTarget,
  pauseSyntax,
  psqlSyntax,
  resetSyntax,
  restartSyntax,
  resumeSyntax,
  splitAtDoubleDash,
  statusSyntax,
  type Target,
} from "./flags.ts";
import { annotate, clusterToAnnotate, type Found, find, findAll, secretData, titleOf } from "./objects.ts";
import { connectionFrom, uriKey } from "./psql.ts";
import { changeInWords, isReady, screenOf } from "./screen.ts";

/** Interval of the reads of a command that waits, in milliseconds. */
const pollMs = 1000;

const wait = { wait: z.boolean(), timeout: z.number() };

/** Runs a command on an object of the cluster; the connection is closed at its end. */
function onObject<Flags extends Target>(
  syntax: Command,
  read: (args: readonly string[]) => Flags,
  args: readonly string[],
  ports: CliPorts,
  run: (cluster: CommandCluster, flags: Flags) => Promise<number>,
): Promise<number> {
  return reporting(syntax, read, args, ports, async (flags) => {
    const cluster = clusterToAnnotate(flags, ports);
    try {
      return await run(cluster, flags);
    } finally {
      await cluster.close();
    }
  });
}

/** `status NAME`: all objects of the name; exit status 0 if each is ready, 1 if one is not. */
export function statusCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  const read = (given: readonly string[]) => parseTarget(statusSyntax, given, {});
  return onObject(statusSyntax, read, args, ports, async (cluster, { name }) => {
    const found = await findAll(cluster, name, ["Compute", "Branch", "ComputePool", "ServiceConnection"]);
    ports.stdout(found.map((each) => screenOf(each, ports.clock.now())).join("\n\n"));
    return found.every(isReady) ? 0 : 1;
  });
}

/** `psql NAME`: exit status of psql. */
export function psqlCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  const { own, others } = splitAtDoubleDash(args);
  const read = (given: readonly string[]) => parseTarget(psqlSyntax, given, { pooled: z.boolean() });
  return onObject(psqlSyntax, read, own, ports, async (cluster, { name, pooled }) => {
    const found = await find(cluster, name, ["Compute"]);
    const connectionSecret = found.kind === "Compute" ? found.object.spec.connectionSecret : undefined;
    if (connectionSecret?.database === undefined) {
      throw new CommandProblem([
        `Compute ${cluster.namespace}/${name} writes no Secret to connect with. Set spec.connectionSecret with name, database and role`,
      ]);
    }
    const { namespace = cluster.namespace } = connectionSecret;
    const env = connectionFrom(await secretData(cluster, { namespace, name: connectionSecret.name }), pooled);
    if (env === undefined) {
      const lack = `holds no readable ${uriKey(pooled)}. See the condition of the Compute: kubectl compute-operator status`;
      throw new CommandProblem([`Secret ${connectionSecret.name}: ${lack}`]);
    }
    const status = await ports.programs.handOver("psql", others, env);
    if (status === undefined) throw new CommandProblem(["psql is not on the PATH: install the client of Postgres"]);
    return status;
  });
}

/** `restart NAME`: asks for one restart, of a pool for one of each member. */
export function restartCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  const read = (given: readonly string[]) => parseTarget(restartSyntax, given, wait);
  return onObject(restartSyntax, read, args, ports, async (cluster, flags) => {
    const found = await find(cluster, flags.name, ["Compute", "ComputePool"]);
    refuseObserved(found, "restarted");
    return request(found, restarting, { cluster, flags }, ports);
  });
}

/** `reset BRANCH`: asks for one reset to the parent's head. */
export function resetCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  const read = (given: readonly string[]) => parseTarget(resetSyntax, given, { ...wait, yes: z.boolean() });
  return onObject(resetSyntax, read, args, ports, async (cluster, flags) => {
    const found = await find(cluster, flags.name, ["Branch"]);
    refuseObserved(found, "reset");
    if (!flags.yes) {
      const question = `Reset ${titleOf(found)} to the head of its parent? What was written to it is lost.`;
      await askForYes(question, "reset cannot ask: pass --yes to reset the branch", ports);
    }
    return request(found, resetting, { cluster, flags }, ports);
  });
}

/** `pause NAME`: nothing is sent until a time, or until `resume`. */
export function pauseCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  const read = (given: readonly string[]) => parseTarget(pauseSyntax, given, { for: z.number().optional() });
  return onObject(pauseSyntax, read, args, ports, async (cluster, { name, for: ms }) => {
    const found = await find(cluster, name, ["Compute", "Branch"]);
    const value = ms === undefined ? "true" : timestamp(ports.clock.now() + ms);
    await annotate(cluster, found, annotations.paused, value);
    ports.stdout(`paused ${titleOf(found)} until ${ms === undefined ? "resume" : value}`);
    return 0;
  });
}

/** `resume NAME`: ends a pause. */
export function resumeCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  const read = (given: readonly string[]) => parseTarget(resumeSyntax, given, {});
  return onObject(resumeSyntax, read, args, ports, async (cluster, { name }) => {
    const found = await find(cluster, name, ["Compute", "Branch"]);
    const isSet = annotation(found.object, "paused") !== undefined;
    if (isSet) await annotate(cluster, found, annotations.paused, undefined);
    ports.stdout(isSet ? `resumed ${titleOf(found)}` : `${titleOf(found)} is not paused`);
    return 0;
  });
}

/** `disrupt NAME`: connections may be cut for a while. */
export function disruptCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  const read = (given: readonly string[]) => {
    const { for: ms, ...target } = parseTarget(disruptSyntax, given, { for: z.number().optional() });
    if (ms === undefined) throw new BadFlag("--for is needed: for how long connections may be cut, such as 30m");
    return { ...target, ms };
  };
  return onObject(disruptSyntax, read, args, ports, async (cluster, { name, ms }) => {
    const found = await find(cluster, name, ["Compute", "ComputePool"]);
    if (found.kind === "ComputePool") throw new CommandProblem([`${titleOf(found)} ${replicasAlone(found.object)}`]);
    refuseObserved(found, "changed");
    const end = timestamp(ports.clock.now() + ms);
    await annotate(cluster, found, annotations.disruptionUntil, end);
    const waiting = found.kind === "Compute" ? (found.object.status.waiting ?? []) : [];
    const sent =
      waiting.length === 0 ? "no change waits for that" : `${waiting.map(changeInWords).join(", ")} can go now`;
    ports.stdout(`connections of ${titleOf(found)} may be cut until ${end}: ${sent}${pauseNote(found, ports)}`);
    return 0;
  });
}

function replicasAlone(pool: ComputePool): string {
  return `has replicas, and each of them is a Compute that waits for windows: name it, such as ${memberName(pool, 0)}`;
}

/** The operator would record a request as done, and send nothing for it. */
function refuseObserved(found: Found, done: string): void {
  if ((found.kind !== "Compute" && found.kind !== "Branch") || !isObserved(found.object)) return;
  throw new CommandProblem([
    `${titleOf(found)} is only observed (managementPolicy: Observe): nothing is ${done}, and no annotation was set`,
  ]);
}

/** A request by an annotation: the status shows its value once it is carried out. */
interface Request {
  name: "restartedAt" | "resetAt";
  noun: string;
  done: string;
}

const restarting: Request = { name: "restartedAt", noun: "restart", done: "restarted" };
const resetting: Request = { name: "resetAt", noun: "reset", done: "reset" };

/** Asks with a new value of the annotation, and waits with `--wait` until it is carried out. */
async function request(
  found: Found,
  { name, noun, done }: Request,
  { cluster, flags }: { cluster: CommandCluster; flags: Target & { wait: boolean; timeout: number } },
  ports: CliPorts,
): Promise<number> {
  const value = new Date(ports.clock.now()).toISOString();
  await annotate(cluster, found, annotations[name], value);
  ports.stdout(`asked for a ${noun} of ${titleOf(found)}${pauseNote(found, ports)}`);
  if (!flags.wait) return 0;
  try {
    return await until({ asked: found, name, value, done }, { cluster, timeout: flags.timeout }, ports);
  } catch (error) {
    // Otherwise a person takes an interrupted command for one that asked for nothing.
    if (ports.signal.aborted) ports.stdout(`the request stands: ${titleOf(found)} is ${done} without this command`);
    throw error;
  }
}

/**
 * Looks until the request is carried out, and says each reason once. A request whose annotation holds another value is
 * a problem: the operator may skip it. The other value is not waited for, because it may be an old one that a GitOps
 * tool put back.
 */
async function until(
  { asked, name, value, done }: { asked: Found; name: Request["name"]; value: string; done: string },
  { cluster, timeout }: { cluster: CommandCluster; timeout: number },
  ports: CliPorts,
): Promise<number> {
  let said = "";
  const look = async () => {
    const { object } = await find(cluster, asked.object.metadata.name, [asked.kind]);
    if (Object.entries(object.status).some((shown) => sameJSON(shown, [name, value]))) {
      ports.stdout(`${done} ${titleOf(asked)}`);
      return "done";
    }
    const ready = shownCondition(object);
    // Until the operator takes the request up, it shows what was before.
    const line =
      ready === undefined || ready.status === "True" ? "" : `  ${ready.reason}: ${printableLine(ready.message)}`;
    if (line !== said && line !== "") ports.stdout(line);
    said = line;
    const held = annotation(object, name);
    if (held !== value) {
      const named = `the annotation ${annotations[name]}`;
      throw new CommandProblem([
        held === undefined
          ? `the request no longer stands: ${named} was removed`
          : `another request replaced this one: ${named} is now ${printableLine(held)}`,
      ]);
    }
    return pollMs;
  };
  if (await repeat(look, ports, timeout)) return 0;
  throw new CommandProblem([`not carried out after ${timeout / 1000} s (--timeout); the request stands`]);
}

/** A request of a paused object waits; a pool cannot be paused. */
function pauseNote({ kind, object }: Found, { clock }: CliPorts): string {
  return kind === "ComputePool" || pausedForMs(object, clock.now()) === undefined
    ? ""
    : "; the object is paused, so the request waits for resume";
}
