import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { oneAtATime } from "./one-at-a-time.ts";

let directory: string;
let lock: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "one-at-a-time-"));
  lock = join(directory, "lock");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test("work under one lock does not overlap", async () => {
  let running = 0;
  const most: number[] = [];
  const work = async () => {
    running += 1;
    most.push(running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
  };
  await Promise.all([oneAtATime(lock, work), oneAtATime(lock, work), oneAtATime(lock, work)]);
  expect(most).toEqual([1, 1, 1]);
  expect(existsSync(lock)).toBe(false);
});

test("work that fails gives the lock back", async () => {
  await expect(oneAtATime(lock, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(existsSync(lock)).toBe(false);
});

test("a lock whose holder has died is taken over", async () => {
  const dead = spawnSync(process.execPath, ["-e", ""]).pid;
  writeFileSync(lock, String(dead));
  expect(await oneAtATime(lock, () => Promise.resolve("done"))).toBe("done");
});

test("a lock whose holder lives is waited for", async () => {
  writeFileSync(lock, String(process.pid));
  let entered = false;
  const waiting = oneAtATime(lock, () => {
    entered = true;
    return Promise.resolve();
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(entered).toBe(false);
  rmSync(lock);
  await waiting;
  expect(entered).toBe(true);
});
