import { expect, it } from "vitest";
import { cryptoIds, seededIds, uuidOf } from "../../src/service/ids.ts";

const ids = { crypto: cryptoIds(), seeded: seededIds(() => 0.999) };
const hex = "[0-9a-f]";

it.each(Object.entries(ids))("%s ids have the forms of the public service", (_, made) => {
  expect(made.uuid()).toMatch(new RegExp(`^${hex}{8}-${hex}{4}-4${hex}{3}-[89ab]${hex}{3}-${hex}{12}$`));
  expect(made.name()).toMatch(new RegExp(`^[a-z]+-[a-z]+-${hex}{8}$`));
  expect(made.secret()).toMatch(/^[A-Za-z0-9]{64}$/);
});

it("real ids are new each time", () => {
  const made = Array.from({ length: 50 }, () => [ids.crypto.uuid(), ids.crypto.name(), ids.crypto.secret()]);
  expect(new Set(made.flat()).size).toBe(150);
});

it("names are made of every word, each as often as the others", () => {
  const names = Array.from({ length: 12 }, (_, part) =>
    seededIds(() => part / 12)
      .name()
      .split("-"),
  );
  expect(names.map(([adjective]) => adjective).join(" ")).toBe(
    "amber brisk calm dusty early fancy green hollow icy jolly keen late",
  );
  expect(names.map(([, noun]) => noun).join(" ")).toBe(
    "brook cloud dune field grove hill isle lake meadow pond reef stone",
  );
  expect(names.map(([, , tail]) => tail).join(" ")).toBe(
    "00000000 11111111 22222222 44444444 55555555 66666666 88888888 99999999 aaaaaaaa cccccccc dddddddd eeeeeeee",
  );
});

it("the UUID of a text is made of its digest, and never another one", () => {
  expect([uuidOf("acc-ana"), uuidOf("acc-bob")]).toEqual([
    "b0e06ba2-b93a-8a8a-8add-a168eeda5c3c",
    "555118e2-0543-8e58-8e7b-e5419f0b17ce",
  ]);
});
