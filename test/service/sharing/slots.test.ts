import { expect, it } from "vitest";
import { Slots } from "../../../src/service/sharing/slots.ts";

it("lets a few act at once and the others in order, whether those before succeed or not", async () => {
  const slots = new Slots(2);
  const begun: number[] = [];
  const ends = Array.from({ length: 4 }, () => Promise.withResolvers<number>());
  const taken = ends.map(({ promise }, index) =>
    slots.take(() => {
      begun.push(index);
      return promise;
    }),
  );
  expect(begun).toEqual([0, 1]);
  ends[1]?.reject(new Error("no"));
  await expect(taken[1]).rejects.toThrow("no");
  expect(begun).toEqual([0, 1, 2]);
  ends[0]?.resolve(0);
  await taken[0];
  expect(begun).toEqual([0, 1, 2, 3]);
  for (const end of ends) end.resolve(9);
  expect(await Promise.all([taken[0], taken[2], taken[3]])).toEqual([0, 9, 9]);
  await slots.take(() => Promise.resolve(begun.push(4)));
  expect(begun.at(-1)).toBe(4);
});

it("holders take turns, and each one's callers come in their order", async () => {
  const slots = new Slots(1);
  const begun: string[] = [];
  const take = (name: string, holder?: string) =>
    slots.take(async () => {
      begun.push(name);
    }, holder);
  const first = ["a1", "a2", "a3", "a4"].map((name) => take(name, "a"));
  await Promise.all([...first, take("b1", "b"), take("none"), take("b2", "b")]);
  expect(begun).toEqual(["a1", "a2", "b1", "none", "a3", "b2", "a4"]);
  expect(slots.taken).toBe(0);
});
