import { type SpawnOptions, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { Guardian } from "./guardian.ts";
import { mostProcesses } from "./most-processes.ts";
import type { Ended, Processes, ProcessFacts, RunSettings } from "./processes.ts";

/** The processes of the machine that this one runs on. */
export function systemProcesses(self: Processes["self"]): Processes {
  const guardian = new Guardian(self.node);
  return {
    run,
    guard: (...program) => guardian.guard(...program),
    signal: (pid, name) => guardian.signal(pid, name),
    facts,
    processesIn,
    numberAt,
    most: mostProcesses(),
    self,
  };
}

function run(command: string, args: readonly string[], settings: RunSettings = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const stdin = settings.input === undefined ? "ignore" : "pipe";
    const child = spawn(command, args, { ...optionsOf(settings), stdio: [stdin, "pipe", "pipe"] });
    child.stdin?.on("error", () => {});
    child.stdin?.end(settings.input);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", (error) => resolve({ status: null, output: error.message }));
    child.once("close", (status) => resolve({ status, output }));
  });
}

function optionsOf({ user, cwd, env }: RunSettings): SpawnOptions {
  return { ...(user && { uid: user.uid, gid: user.gid }), ...(cwd !== undefined && { cwd }), ...(env && { env }) };
}

async function facts(pid: number): Promise<ProcessFacts | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => undefined);
  if (stat !== undefined) return factsFromProc(pid, stat);
  // Linux has no such process: `ps` would take minutes for all the servers that a machine's failure has ended.
  return existsSync("/proc/self/stat") ? undefined : factsFromPs(pid);
}

/** The clock ticks per second in which Linux shows the start of a process, on every architecture Node runs on. */
const ticksPerSecond = 100;

async function factsFromProc(pid: number, stat: string): Promise<ProcessFacts | undefined> {
  const booted = Number(/^btime (\d+)$/m.exec(await readFile("/proc/stat", "latin1"))?.[1]);
  // The name of the program stands in parentheses and may hold anything; the fields after it are numbers.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z") return undefined;
  const place = await readlink(`/proc/${pid}/cwd`).catch(() => "");
  const sinceBoot = Number(fields[19]) / ticksPerSecond;
  return { startedAt: booted + sinceBoot, sinceBoot, place };
}

async function processesIn(data: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await readdir("/proc").catch(() => [])) {
    if (!/^\d+$/.test(pid) || (await readlink(`/proc/${pid}/cwd`).catch(() => "")) !== data) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, "latin1").catch(() => "");
    // The server itself has the arguments of its start, and may have another start than its file says: of before the
    // machine's clock was set.
    if (/^postgres: |\0-D\0/.test(line)) found.push(Number(pid));
  }
  return found;
}

async function numberAt(data: string): Promise<number> {
  const [pid = ""] = (await readFile(join(data, "postmaster.pid"), "latin1").catch(() => "")).split("\n", 1);
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "latin1").catch(() => "");
  // Each id is followed by a space.
  return children.split(" ").length;
}

async function factsFromPs(pid: number): Promise<ProcessFacts | undefined> {
  const { status, output } = await run("ps", ["-ww", "-o", "lstart=,args=", "-p", String(pid)]);
  const [, started = "", place = ""] = /^(.{24})\s+(.*)$/m.exec(output.trim()) ?? [];
  const at = Date.parse(started);
  return status === 0 && Number.isFinite(at) ? { startedAt: at / 1000, place } : undefined;
}
