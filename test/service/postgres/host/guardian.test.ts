import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Guardian } from "../../../../src/service/postgres/host/guardian.ts";
import { Child } from "../../../support/child.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";

let directory: ReturnType<typeof temporaryDirectory>;
let logFile: string;
beforeEach(() => {
  directory = temporaryDirectory("guardian");
  logFile = join(directory.path, "log");
});
afterEach(() => directory.remove());

const guardian = new Guardian(process.execPath);
const run = (script: string) => guardian.guard(process.execPath, ["--eval", script], { logFile, user: undefined });

it("the guardian reports how a program ends, and keeps what it writes", async () => {
  expect(await run("console.log('said'); console.error('complained'); process.exitCode = 3").ended).toBe(3);
  expect(readFileSync(logFile, "utf8")).toBe("said\ncomplained\n");
  // What clients do is in it.
  expect(statSync(logFile).mode & 0o777).toBe(0o600);
});

it("the guardian keeps no log open, of which each start opens one", async () => {
  const server = run("console.log(process.ppid); setInterval(() => {}, 1e6)");
  await expect.poll(log).toMatch(/^\d+\n$/);
  const files = `/proc/${log().trim()}/fd`;
  const open = existsSync(files) ? readdirSync(files).map((fd) => readlinkSync(join(files, fd))) : [];
  expect(open).not.toContain(realpathSync(logFile));
  server.stop();
  await server.ended;
});

it("a guarded program gets the environment of servers, and nothing of the service's own", async () => {
  await run("console.log(JSON.stringify(process.env))").ended;
  expect(JSON.parse(log())).toEqual({ LC_ALL: "C", PATH: "/usr/bin:/bin" });
});

it("a program runs at the root of the file system, and has of the environment a language and a path alone", async () => {
  await run("console.log(JSON.stringify([process.cwd(), process.env]))").ended;
  expect(JSON.parse(readFileSync(logFile, "utf8"))).toEqual(["/", { LC_ALL: "C", PATH: "/usr/bin:/bin" }]);
});

const log = () => (existsSync(logFile) ? readFileSync(logFile, "utf8") : "");

it("the guardian has a program shut down once, however often it is to, and signals one that it is told of", async () => {
  const server = run(
    "process.on('SIGINT', () => console.log('asked')); process.on('SIGQUIT', () => { console.log('over'); process.exit(0); }); console.log(process.pid); setInterval(() => {}, 1e6)",
  );
  await expect.poll(log).toMatch(/^\d+\n$/);
  const pid = Number(log());
  server.stop();
  await expect.poll(log).toBe(`${pid}\nasked\n`);
  server.stop();
  guardian.signal(pid, "QUIT");
  expect(await server.ended).toBe(0);
  expect(log()).toBe(`${pid}\nasked\nover\n`);
});

/** What keeps this process from its end, of these kinds. */
function held(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => ["ProcessWrap", "PipeWrap"].includes(kind));
}

/** The score by which the system chooses what to end where memory is short; `undefined` where it has none. */
function score(pid: number | string): number | undefined {
  const file = `/proc/${pid}/oom_score_adj`;
  return existsSync(file) ? Number(readFileSync(file, "utf8")) : undefined;
}

it("where memory is short, the system ends a guarded program rather than the service or the guardian", async () => {
  const server = run("console.log(process.ppid, process.pid); setInterval(() => {}, 1e6)");
  await expect.poll(log).toMatch(/^\d+ \d+\n$/);
  const [guards = 0, pid = 0] = log().split(" ").map(Number);
  const own = score("self");
  expect([score(guards), score(pid)]).toEqual([own, own === undefined ? own : Math.min(1000, own + 500)]);
  server.stop();
  await server.ended;
});

it("a guarded program is ended first also where the service itself is to be ended early", async () => {
  const node = join(directory.path, "early");
  writeFileSync(node, `#!/bin/sh\necho 800 > /proc/self/oom_score_adj\nexec "${process.execPath}" "$@"\n`, {
    mode: 0o755,
  });
  const early = new Guardian(node);
  const script = "console.log(process.pid); setInterval(() => {}, 1e6)";
  const server = early.guard(process.execPath, ["--eval", script], { logFile, user: undefined });
  await expect.poll(log).toMatch(/^\d+\n$/);
  expect(score(Number(log())) ?? 1000).toBe(1000);
  server.stop();
  await server.ended;
});

it("a program that has not shut down ten seconds after it was to is told to quit at once", async () => {
  // A guardian for which time passes a hundred times as fast.
  const node = join(directory.path, "node");
  const hasty = join(directory.path, "hasty.cjs");
  writeFileSync(hasty, "const later = setTimeout; globalThis.setTimeout = (act, ms) => later(act, ms / 100);");
  writeFileSync(node, `#!/bin/sh\nexec "${process.execPath}" --require "${hasty}" "$@"\n`, { mode: 0o755 });
  const script =
    "process.on('SIGINT', () => console.log('asked')); process.on('SIGQUIT', () => { console.log('over'); process.exit(4); }); console.log('up'); setInterval(() => {}, 1e6)";
  const server = new Guardian(node).guard(process.execPath, ["--eval", script], { logFile, user: undefined });
  await expect.poll(log).toBe("up\n");
  server.stop();
  expect(await server.ended).toBe(4);
  expect(log()).toBe("up\nasked\nover\n");
});

it("a guarded program that fails writes none of its memory into its data", async () => {
  const server = run("console.log(process.pid); setInterval(() => {}, 1e6)");
  await expect.poll(log).toMatch(/^\d+\n$/);
  const file = (pid: number | string) => `/proc/${pid}/coredump_filter`;
  const filter = (pid: number | string) => (existsSync(file(pid)) ? Number(readFileSync(file(pid), "utf8")) : 0);
  expect(filter(Number(log()))).toBe(0);
  server.stop();
  await server.ended;
});

it("the guardian keeps the service from its end while a program runs, and no longer", async () => {
  await run("").ended;
  const before = held();
  const [first, second] = ["first", "second"].map(() => run("setInterval(() => {}, 1e6)"));
  const during = held();
  expect(during.length - before.length).toBe(3);
  first?.stop();
  await first?.ended;
  expect(held()).toEqual(during);
  second?.stop();
  await second?.ended;
  expect(held()).toEqual(before);
});

it("the guardian reports a program that cannot be run as ended, and one beside it is not affected", async () => {
  const other = run("setInterval(() => {}, 1e6)");
  const missing = guardian.guard(join(directory.path, "none"), [], { logFile, user: undefined });
  expect(await missing.ended).toBeNull();
  other.stop();
  await other.ended;
});

it("the guardian reports a program whose log cannot be opened as ended, and one beside it is not affected", async () => {
  const other = run("setInterval(() => {}, 1e6)");
  const none = join(directory.path, "none", "log");
  expect(await guardian.guard(process.execPath, [], { logFile: none, user: undefined }).ended).toBeNull();
  const isOver = other.ended.then(() => "over");
  expect(await Promise.race([isOver, run("").ended.then(() => "runs")])).toBe("runs");
  other.stop();
  await other.ended;
});

it("the guardian's own end counts as that of its programs, and the next program gets another guardian", async () => {
  const orphan = run("process.kill(process.ppid, 'SIGKILL'); setTimeout(() => {}, 100)");
  expect(await orphan.ended).toBeNull();
  expect(await run("process.exitCode = 3").ended).toBe(3);
});

it("no other guardian is begun to stop a program that has ended with its own", async () => {
  const orphan = run("process.kill(process.ppid, 'SIGKILL'); setTimeout(() => {}, 100)");
  await orphan.ended;
  const before = children();
  orphan.stop();
  expect(children()).toBe(before);
});

/** The processes that this one has begun, where the system shows them. */
function children(): string {
  const file = `/proc/self/task/${process.pid}/children`;
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

it("a program is reported as ended where so many files are open that no guardian starts, and the service goes on", async () => {
  const source = join(import.meta.dirname, "../../../../src/service/postgres/host/guardian.ts");
  const script = `
    import { closeSync, openSync } from "node:fs";
    import { Guardian } from ${JSON.stringify(source)};
    const guardian = new Guardian(process.execPath);
    const run = () => guardian.guard(process.execPath, ["--eval", ""], { logFile: "/dev/null", user: undefined }).ended;
    const files = [];
    try { for (;;) files.push(openSync("/dev/null")); } catch {}
    const ends = [await run()];
    for (const file of files) closeSync(file);
    console.log(JSON.stringify([...ends, await run()]));`;
  const few = join(directory.path, "few-files");
  writeFileSync(few, `#!/bin/sh\nulimit -n 100\nexec "${process.execPath}" "$@"\n`, { mode: 0o755 });
  const args = ["--input-type=module", "--eval", script];
  const child = await Child.start({ name: "few files", command: few, args, env: {} });
  expect(await child.end).toEqual({ status: 0, signal: null });
  expect(child.tail()).toBe("[null,0]");
});

it("the guardian has all programs shut down when the service is killed, and keeps no process from its end", async () => {
  const source = join(import.meta.dirname, "../../../../src/service/postgres/host/guardian.ts");
  const script = `
    import { Guardian } from ${JSON.stringify(source)};
    const guardian = new Guardian(process.argv[2]);
    const guard = (script) =>
      guardian.guard(process.execPath, ["--eval", script], { logFile: ${JSON.stringify(logFile)}, user: undefined });
    await guard("").ended;
    if (process.argv[1] !== "stay") console.log("over");
    else guard("process.on('SIGINT', () => { console.log('shut down'); process.exit(); }); console.log('up'); setInterval(() => {}, 1e6)");`;
  // A guardian for whom no time passes: it ends with its last program, and not with the time that this one had.
  const node = join(directory.path, "node");
  const timeless = join(directory.path, "timeless.cjs");
  writeFileSync(timeless, "const later = setTimeout; globalThis.setTimeout = (act) => later(act, 1e9);");
  writeFileSync(node, `#!/bin/sh\nexec "${process.execPath}" --require "${timeless}" "$@"\n`, { mode: 0o755 });
  const args = (word: string) => ["--input-type=module", "--eval", script, word, node];
  const done = await Child.start({ name: "done", command: process.execPath, args: args("go"), env: {} });
  expect(await done.end).toEqual({ status: 0, signal: null });
  const killed = await Child.start({ name: "killed", command: process.execPath, args: args("stay"), env: {} });
  await expect.poll(log, { timeout: 20_000 }).toBe("up\n");
  // Its output is over when the guardian has ended too, which shares it.
  await killed.kill();
  expect(log()).toBe("up\nshut down\n");
});
