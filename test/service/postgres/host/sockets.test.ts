import { existsSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isStillThere, Sockets } from "../../../../src/service/postgres/host/sockets.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";
import { main, primary, Shop } from "../../support/shop.ts";

it("a hundred thousand branches that come and go have numbers that Postgres takes, each its own", () => {
  const there = new Set(["branch kept"]);
  const sockets = new Sockets("/s", (key) => there.has(key));
  const kept = sockets.number("branch kept");
  const numbers = Array.from({ length: 100_000 }, (_, n) => sockets.number(`branch ${n}`));
  expect([Math.min(...numbers), Math.max(...numbers)]).toEqual([2, 65_535]);
  // One that is gone may still be ending: its number is the last to be given again.
  expect(numbers.slice(0, 65_534)).toEqual(Array.from({ length: 65_534 }, (_, n) => n + 2));
  expect([kept, sockets.number("branch kept"), numbers.includes(kept)]).toEqual([1, 1, false]);
});

it("each number has a directory that nobody can guess, and another one once it is given again", () => {
  const root = temporaryDirectory("sockets");
  onTestFinished(() => root.remove());
  const there = new Set(["branch kept"]);
  const sockets = new Sockets(root.path, (key) => there.has(key));
  const of = (key: string) => sockets.directory(sockets.number(key));
  const [kept, gone] = [of("branch kept"), of("branch gone")];
  for (const directory of [kept, gone]) mkdirSync(directory);
  for (const directory of [kept, gone]) expect(basename(directory)).toMatch(/^[\w-]{12}$/);
  expect([sockets.path(2), of("branch gone")]).toEqual([join(gone, ".s.PGSQL.2"), gone]);
  const others = Array.from({ length: 70_000 }, (_, n) => of(`branch ${n}`));
  expect([others.includes(kept), others.includes(gone), of("branch kept")]).toEqual([false, false, kept]);
  expect([new Set(others).size, existsSync(kept), existsSync(gone)]).toEqual([70_000, true, false]);
});

it("a server beyond those whose sockets can have a number is refused with the reason", () => {
  const sockets = new Sockets("/s");
  const number = (n: number) => sockets.number(`branch ${n}`);
  expect(Array.from({ length: 65_535 }, (_, n) => number(n)).at(-1)).toBe(65_535);
  expect(() => number(65_535)).toThrow("65535 servers have their sockets: delete branches");
  expect(number(7)).toBe(8);
});

it("the number of a branch, a compute, its pooler or data is kept while that is there", () => {
  const { store } = new Shop().core.context;
  const keys = [`branch ${main}`, `compute ${primary}`, `pooler ${primary}`, `data ${import.meta.dirname}`];
  expect(keys.map((key) => isStillThere(store, key))).toEqual([true, true, true, true]);
  const gone = ["branch br-gone", "compute ep-gone", "pooler ep-gone", "data /nowhere/to be found"];
  expect(gone.map((key) => isStillThere(store, key))).toEqual([false, false, false, false]);
});
