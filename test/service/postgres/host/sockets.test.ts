import { existsSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isStillThere, Sockets, socketIn } from "../../../../src/service/postgres/host/sockets.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";
import { main, primary, Shop } from "../../support/shop.ts";

it("a thing has a directory that nobody can guess, while it is there, however many others come and go", () => {
  const root = temporaryDirectory("sockets");
  onTestFinished(() => root.remove());
  const there = new Set(["branch kept"]);
  const sockets = new Sockets(root.path, (key) => there.has(key));
  const [kept, gone] = [sockets.of("branch kept"), sockets.of("branch gone")];
  for (const directory of [kept, gone]) mkdirSync(directory);
  for (const directory of [kept, gone]) expect(basename(directory)).toMatch(/^[\w-]{12}$/);
  expect(sockets.of("branch gone")).toBe(gone);
  const others = Array.from({ length: 10_000 }, (_, n) => sockets.of(`branch ${n}`));
  expect([new Set([kept, gone, ...others]).size, sockets.of("branch kept")]).toEqual([10_002, kept]);
  // What is left of those that are gone goes with the first turn of the others.
  expect([existsSync(kept), existsSync(gone), sockets.of("branch gone") === gone]).toEqual([true, false, false]);
  expect(socketIn(kept)).toBe(join(kept, ".s.PGSQL.5432"));
});

it("directories that are all in use are looked through ever less often, as there are more of them", () => {
  let looks = 0;
  const sockets = new Sockets("/sockets", () => (looks += 1) > 0);
  for (let n = 0; n < 3000; n += 1) sockets.of(`branch ${n}`);
  expect(looks).toBe(1000 + 2000);
});

it("the directory of a branch, a compute, its pooler or data is kept while that is there", () => {
  const { store } = new Shop().core.context;
  const keys = [`branch ${main}`, `compute ${primary}`, `pooler ${primary}`, `data ${import.meta.dirname}`];
  expect(keys.map((key) => isStillThere(store, key))).toEqual([true, true, true, true]);
  const gone = ["branch br-gone", "compute ep-gone", "pooler ep-gone", "data /nowhere/to be found"];
  expect(gone.map((key) => isStillThere(store, key))).toEqual([false, false, false, false]);
});
