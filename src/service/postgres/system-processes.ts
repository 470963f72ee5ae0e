import { type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile, readlink } from "node:fs/promises";
import type { Ended, GuardedServer, Processes, ProcessFacts, ProcessUser, RunSettings } from "./processes.ts";

/**
 * Runs a server and waits for it. A second process waits for the end of the pipe that the service holds: it then asks
 * the server for a fast shutdown, and after ten seconds for an immediate one. Both are in a session of their own, so
 * that no signal meant for the service reaches them.
 */
const guardian = `
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
(
  read -r _ <&3
  kill -INT "$server" 2>/dev/null
  waited=0
  while [ "$waited" -lt 100 ] && kill -0 "$server" 2>/dev/null; do sleep 0.1; waited=$((waited + 1)); done
  kill -QUIT "$server" 2>/dev/null
) &
watcher=$!
wait "$server"
status=$?
kill "$watcher" 2>/dev/null
exit "$status"
`;

/** The processes of the machine that this one runs on. */
export function systemProcesses(self: Processes["self"]): Processes {
  return { run, runSync, guard, facts, signal, self };
}

function run(command: string, args: readonly string[], settings: RunSettings = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { ...optionsOf(settings), stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", (error) => resolve({ status: null, output: error.message }));
    child.once("close", (status) => resolve({ status, output }));
  });
}

function runSync(command: string, args: readonly string[], settings: RunSettings = {}): Ended {
  const { status, stdout, stderr, error } = spawnSync(command, args, { ...optionsOf(settings), encoding: "utf8" });
  return { status, output: error?.message ?? `${stdout}${stderr}` };
}

function guard(
  command: string,
  args: readonly string[],
  { logFile, user, env }: { logFile: string; user: ProcessUser | undefined; env: Readonly<Record<string, string>> },
): GuardedServer {
  const log = openSync(logFile, "a", 0o600);
  const child = spawn("/bin/sh", ["-c", guardian, "compute-operator-guardian", command, ...args], {
    ...optionsOf({ user, env, cwd: "/" }),
    detached: true,
    stdio: ["pipe", log, log],
  });
  closeSync(log);
  const ended = new Promise<number | null>((resolve) => {
    child.once("error", () => resolve(null));
    child.once("exit", resolve);
  });
  child.stdin?.on("error", () => {});
  return { ended, stop: () => child.stdin?.destroy() };
}

function optionsOf({ user, cwd, env }: RunSettings): SpawnOptions {
  return { ...(user && { uid: user.uid, gid: user.gid }), ...(cwd !== undefined && { cwd }), ...(env && { env }) };
}

async function signal(pid: number, name: "INT" | "QUIT"): Promise<void> {
  await run("/bin/sh", ["-c", `kill -${name} ${pid}`]);
}

async function facts(pid: number): Promise<ProcessFacts | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => undefined);
  return stat === undefined ? factsFromPs(pid) : factsFromProc(pid, stat);
}

/** The clock ticks per second in which Linux shows the start of a process, on every architecture Node runs on. */
const ticksPerSecond = 100;

async function factsFromProc(pid: number, stat: string): Promise<ProcessFacts | undefined> {
  const booted = Number(/^btime (\d+)$/m.exec(await readFile("/proc/stat", "latin1"))?.[1]);
  // The name of the program stands in parentheses and may hold anything; the fields after it are numbers.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z") return undefined;
  const place = await readlink(`/proc/${pid}/cwd`).catch(() => "");
  return { startedAt: booted + Number(fields[19]) / ticksPerSecond, place };
}

async function factsFromPs(pid: number): Promise<ProcessFacts | undefined> {
  const { status, output } = await run("ps", ["-ww", "-o", "lstart=,args=", "-p", String(pid)]);
  const [, started = "", place = ""] = /^(.{24})\s+(.*)$/m.exec(output.trim()) ?? [];
  const at = Date.parse(started);
  return status === 0 && Number.isFinite(at) ? { startedAt: at / 1000, place } : undefined;
}
