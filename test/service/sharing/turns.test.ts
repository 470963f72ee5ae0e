import { expect, it } from "vitest";
import { Turns } from "../../../src/service/sharing/turns.ts";

it("gives turns one after another, whether they succeed or not", async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const slow = turns.take("a", async () => {
    await Promise.resolve();
    seen.push("first");
    throw new Error("no");
  });
  const next = turns.take("a", () => Promise.resolve(seen.push("second")));
  const other = turns.take("b", () => Promise.resolve(seen.push("other")));
  await expect(slow).rejects.toThrow("no");
  await Promise.all([next, other]);
  expect(seen.filter((one) => one !== "other")).toEqual(["first", "second"]);
});

it("turns are idle when the last one has ended, also one that was given out while the others were waited for", async () => {
  const turns = new Turns();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ended: string[] = [];
  void turns.take("a", () => first.promise).then(() => ended.push("first"));
  const idle = turns.idle().then(() => ended.push("idle"));
  void turns.take("a", () => second.promise).then(() => ended.push("second"));
  first.resolve();
  await expect.poll(() => ended).toEqual(["first"]);
  second.resolve();
  await idle;
  expect(ended).toEqual(["first", "second", "idle"]);
});

it("a third caller waits for the second, although the first has ended by then", async () => {
  const turns = new Turns();
  const second = Promise.withResolvers<void>();
  const seen: string[] = [];
  const first = turns.take("a", () => Promise.resolve());
  const held = turns.take("a", () => second.promise).then(() => seen.push("second"));
  await first;
  await Promise.resolve();
  const third = turns.take("a", () => Promise.resolve(seen.push("third")));
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen).toEqual([]);
  second.resolve();
  await Promise.all([held, third]);
  expect(seen).toEqual(["second", "third"]);
});

it("no more than the most act at once, also when the last ones end together and others come between", async () => {
  const turns = new Turns(2);
  const [first, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let acting = 0;
  const hold = () => {
    acting += 1;
    return held.promise;
  };
  const all: Promise<unknown>[] = [];
  const one = turns.take("a", () => first.promise);
  const other = turns.take("a", () => first.promise);
  const came = one.then(() => all.push(turns.take("a", hold), turns.take("a", hold)));
  first.resolve();
  await Promise.all([one, other, came]);
  all.push(turns.take("a", hold));
  await new Promise((resolve) => setImmediate(resolve));
  expect(acting).toBe(2);
  held.resolve();
  await Promise.all(all);
});

it("nothing of a key is kept once the last one that has a turn of it has ended", async () => {
  const turns = new Turns();
  const all = ["a", "a", "b"].map((key) => turns.take(key, () => Promise.resolve()));
  expect(turns.lines).toBe(2);
  await Promise.all(all);
  await turns.idle();
  expect(turns.lines).toBe(0);
});
