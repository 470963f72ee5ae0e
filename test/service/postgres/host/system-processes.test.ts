import fs, { existsSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { systemProcesses } from "../../../../src/service/postgres/host/system-processes.ts";
import { Child } from "../../../support/child.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";
import { realClock } from "../../../support/real-clock.ts";

const [me, group] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
/** Only root runs programs as another user. */
const other = me === 0 ? { uid: 65_534, gid: 65_533 } : { uid: me, gid: group };
const node = process.execPath;
const system = systemProcesses({ pid: process.pid, uid: me, node });
const script = (text: string, ...args: readonly string[]) => ["--eval", text, ...args];

let directory: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  directory = temporaryDirectory("system-processes");
});
afterEach(() => directory.remove());

describe("a program that is run", () => {
  it("the program is known by its status, and by what it writes to either stream", async () => {
    const program = script("console.log(process.argv[1]); console.error('and é'); process.exitCode = 3", "said");
    const { status, output } = await system.run(node, program);
    expect([status, output.split("\n").toSorted()]).toEqual([3, ["", "and é", "said"]]);
  });

  it("the output of a program has all of it, also what a program of its own writes after its end", async () => {
    const late = "setTimeout(() => console.log('late'), 200)";
    const started = `require("child_process").spawn(process.execPath, ["--eval", ${JSON.stringify(late)}], { stdio: "inherit" }).unref()`;
    expect(await system.run(node, script(`console.log("early"); ${started}`))).toEqual({
      status: 0,
      output: "early\nlate\n",
    });
  });

  it("the program reads the input, and an empty one where there is none", async () => {
    const program = script("process.stdin.on('data', (text) => process.stdout.write(`<${text}>`))");
    expect(await system.run(node, program, { input: "given" })).toEqual({ status: 0, output: "<given>" });
    expect(await system.run(node, program)).toEqual({ status: 0, output: "" });
  });

  it("the program may leave its input unread", async () => {
    expect(await system.run(node, script(""), { input: "x".repeat(2 ** 22) })).toEqual({ status: 0, output: "" });
  });

  it("the program runs in the directory, with the environment and as the user that it is given", async () => {
    const shown = "console.log(process.cwd(), process.env.GIVEN, process.env.PATH, process.getuid(), process.getgid())";
    const settings = { cwd: "/", env: { GIVEN: "word" }, user: other };
    expect((await system.run(node, script(shown), settings)).output).toBe(
      `/ word undefined ${other.uid} ${other.gid}\n`,
    );
    expect((await system.run(node, script(shown))).output).toBe(
      `${process.cwd()} undefined ${process.env["PATH"]} ${me} ${group}\n`,
    );
  });

  it("a program that is not there has no status, and the reason is its output", async () => {
    expect(await system.run("/nowhere/program", [])).toEqual({ status: null, output: "spawn /nowhere/program ENOENT" });
  });
});

describe("the facts of a process", () => {
  it("a process is known by its start and its directory, whatever its name", async () => {
    const named = script("process.title = 'a) Z 1 (b'; console.log('up'); setInterval(() => {}, 1e6)");
    const before = realClock.now() / 1000;
    const child = await Child.start({ name: "named", command: node, args: named });
    await child.waitForLine(/up/);
    const [own, found] = [await system.facts(system.self.pid), await system.facts(child.pid)];
    await child.kill();
    expect(found?.place).toBe(process.cwd());
    // Two accounts of one start differ by less than this.
    const tolerance = 3;
    expect(found?.startedAt).toBeGreaterThan(before - tolerance);
    expect(found?.startedAt).toBeLessThan(realClock.now() / 1000 + tolerance);
    expect(Math.abs((own?.startedAt ?? 0) - (realClock.now() / 1000 - process.uptime()))).toBeLessThan(tolerance);
  });

  it("a process that has ended has none, though nobody has taken note of its end", async () => {
    const parent = await Child.start({
      name: "parent",
      command: "sh",
      // It ends once the shell, which might take note of that, has become another program.
      args: ["-c", "sleep 0.5 & echo $!; exec sleep 1000"],
    });
    const pid = Number((await parent.waitForLine(/\d+/))[0]);
    await expect.poll(() => system.facts(pid)).toBeUndefined();
    expect(process.kill(pid, 0)).toBe(true);
    await parent.kill();
    expect(await system.facts(pid)).toBeUndefined();
  });
});

it("the processes in a directory are the sessions of Postgres's there and the server itself, and no other ones", async () => {
  const inside = `process.chdir(${JSON.stringify(directory.path)}); console.log("up"); setInterval(() => {}, 1e6)`;
  const titled = (title: string) =>
    Child.start({ name: title, command: node, args: script(`process.title = ${JSON.stringify(title)}; ${inside}`) });
  const args = [...script(inside), "--", "-D", directory.path];
  const [session, shell, server] = await Promise.all([
    titled("postgres: app stock"),
    titled("bash"),
    Child.start({ name: "server", command: node, args }),
  ]);
  const all = [session, shell, server];
  await Promise.all(all.map((child) => child.waitForLine(/up/)));
  expect(new Set(await system.processesIn(directory.path))).toEqual(new Set([session.pid, server.pid]));
  await Promise.all(all.map((child) => child.kill()));
  expect(await system.processesIn(directory.path)).toEqual([]);
});

it("the processes of a server are those that it has started and itself, and one where nothing is known of it", async () => {
  const args = ["-c", "sleep 1000 & sleep 1000 & echo up; wait"];
  const server = await Child.start({ name: "server", command: "sh", args });
  await server.waitForLine(/up/);
  expect(await system.numberAt(directory.path)).toBe(1);
  writeFileSync(join(directory.path, "postmaster.pid"), `${server.pid}\n${directory.path}\n`);
  expect(await system.numberAt(directory.path)).toBe(3);
  await server.kill();
  expect(await system.numberAt(directory.path)).toBe(1);
});

describe("the facts of a process on a system that shows none in files", () => {
  /** No process has it. */
  const pid = 99_999_999;

  /** Puts a program in the place of the system's, and hides the files. */
  function instead(text: string): void {
    vi.spyOn(fs, "existsSync").mockReturnValue(false);
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    writeFileSync(join(directory.path, "ps"), `#!${node}\n${text}`, { mode: 0o755 });
    vi.stubEnv("PATH", directory.path);
    onTestFinished(() => void vi.unstubAllEnvs());
  }

  it("a process is known by its start, and by its command line in place of its directory", async () => {
    instead(`const [wide, show, fields, of, pid] = process.argv.slice(2);
      if (wide + show + fields + of === "-ww-olstart=,args=-p") console.log("Mon Jan  5 10:20:30 2026 /bin/postgres -D /data/" + pid);`);
    const place = `/bin/postgres -D /data/${pid}`;
    expect(await system.facts(pid)).toEqual({ startedAt: new Date(2026, 0, 5, 10, 20, 30).getTime() / 1000, place });
  });

  it.each([
    ["fails", 'console.log("Mon Jan  5 10:20:30 2026 postgres"); process.exitCode = 1;'],
    ["knows none", ""],
    ["says no time", 'console.log("some day, not long ago  postgres");'],
  ])("there are no facts where the system's program %s", async (_, text) => {
    instead(text);
    expect(await system.facts(pid)).toBeUndefined();
  });
});

it("no program is run for a process that is not there, where the system shows processes in files", async () => {
  writeFileSync(join(directory.path, "ps"), `#!${node}\nconsole.log("Mon Jan  5 10:20:30 2026 postgres");`, {
    mode: 0o755,
  });
  vi.stubEnv("PATH", directory.path);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect((await system.facts(99_999_999)) === undefined).toBe(existsSync("/proc/self/stat"));
});

it("programs are signalled and guarded by a guardian", async () => {
  const signalled = script(
    "process.on('SIGQUIT', () => process.exit(4)); console.log('up'); setInterval(() => {}, 1e6)",
  );
  const child = await Child.start({ name: "signalled", command: node, args: signalled });
  await child.waitForLine(/up/);
  system.signal(child.pid, "QUIT");
  expect(await child.end).toEqual({ status: 4, signal: null });
  const place = { logFile: `${directory.path}/log`, user: undefined };
  expect(await system.guard(node, script("process.exitCode = 5"), place).ended).toBe(5);
});
