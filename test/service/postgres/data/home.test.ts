import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Home } from "../../../../src/service/postgres/data/home.ts";
import type { Processes } from "../../../../src/service/postgres/host/processes.ts";
import { systemProcesses } from "../../../../src/service/postgres/host/system-processes.ts";
import { realClock } from "../../../support/real-clock.ts";

const system = systemProcesses({ pid: process.pid, uid: process.getuid?.() ?? 0, node: process.execPath });
const nobody = 0;

let temporary: string;
let left: string;
beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), "compute-operator-home-"));
  vi.stubEnv("TMPDIR", temporary);
  left = join(temporary, "compute-operator-postgres-left");
  mkdirSync(left);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(temporary, { recursive: true });
});

/** Opens a service's home, and closes it again. */
async function opened(processes: Processes = system): Promise<void> {
  const data = join(temporary, "service.sqlite");
  const home = await Home.open({ data, user: undefined, processes, clock: realClock });
  await home.close();
}

it.each([
  ["that was killed", () => `${nobody} 1\n`, false],
  ["that was killed, and whose number another process got", (at: number) => `${process.pid} ${at - 60}\n`, false],
  ["that was killed, and whose number an older process has", (at: number) => `${process.pid} ${at + 60}\n`, false],
  ["that runs", (at: number) => `${process.pid} ${at}\n`, true],
  ["that is just being made, with its owner not yet written", () => "", true],
  ["that is just being made, with its owner written in part", (at: number) => `${process.pid} ${at - 60}`, true],
])("the temporary directory of a service %s is removed or left alone", async (_, owner, stays) => {
  const { startedAt = 0 } = (await system.facts(process.pid)) ?? {};
  writeFileSync(join(left, "owner"), owner(startedAt));
  await opened();
  expect(existsSync(left)).toBe(stays);
});

it("the temporary directory of a service that runs stays though the machine's clock was set since it started", async () => {
  const data = ":memory:";
  const home = await Home.open({ data, user: undefined, processes: system, clock: realClock });
  const set = async (pid: number) => {
    const facts = await system.facts(pid);
    return facts && { ...facts, startedAt: facts.startedAt + 3600 };
  };
  await opened({ ...system, facts: set });
  expect(existsSync(home.root)).toBe(true);
  await home.close();
});

it("no temporary directory is removed where the system tells of no process, nor later that of such a service", async () => {
  writeFileSync(join(left, "owner"), `${nobody} 1\n`);
  const untold = { ...system, facts: () => Promise.resolve(undefined) };
  const home = await Home.open({ data: ":memory:", user: undefined, processes: untold, clock: realClock });
  expect(existsSync(left)).toBe(true);
  await opened();
  expect([left, home.root].map((directory) => existsSync(directory))).toEqual([false, true]);
  await home.close();
});

it("a service that keeps its data starts also where there is no directory for temporary files", async () => {
  vi.stubEnv("TMPDIR", join(temporary, "nowhere"));
  await opened();
  expect(existsSync(join(temporary, "service.sqlite.postgres", "branches"))).toBe(true);
});

it("a service starts also where another one that starts removes the same temporary directory first", async () => {
  writeFileSync(join(left, "owner"), `${nobody} 1\n`);
  const facts = (pid: number) => {
    if (pid === nobody) rmSync(left, { recursive: true });
    return system.facts(pid);
  };
  await opened({ ...system, facts });
  expect(existsSync(left)).toBe(false);
});

it.each([
  [74, true],
  [75, false],
])("sockets whose directory has a path of %s bytes lie within the data: %s", async (length, isWithin) => {
  const beside = "/d.sqlite.postgres/s".length;
  const directory = join(temporary, "d".repeat(length - beside - temporary.length - 1));
  mkdirSync(directory);
  const home = await Home.open({
    data: join(directory, "d.sqlite"),
    user: undefined,
    processes: system,
    clock: realClock,
  });
  expect([join(home.root, "s").length, home.sockets.startsWith(directory)]).toEqual([length, isWithin]);
  await home.close();
});
