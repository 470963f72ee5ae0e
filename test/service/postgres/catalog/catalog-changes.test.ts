import { expect, test } from "vitest";
import {
  afterChanges,
  changesOfClients,
  leftIn,
  presentIn,
} from "../../../../src/service/postgres/catalog/catalog-changes.ts";

type Database = readonly [id: number, name: string, ownerName: string];
type Changes = Partial<Record<"dropped" | "given" | "created", string[]>>;

const catalog = (databases: readonly Database[]) => ({
  rights: 2,
  roles: [],
  databases: databases.map(([id, name, ownerName]) => ({ id, name, ownerName })),
});
const stock: Database = [1, "stock", "app"];

test.each<[what: string, applied: Database[], wanted: Database[], present: [string, string][], changes: Changes]>([
  ["nothing where all agree", [stock], [stock], [["stock", "app"]], {}],
  ["a dropped one", [stock], [stock], [], { dropped: ["stock"] }],
  ["a created one", [], [], [["stock", "app"]], { created: ["stock of app"] }],
  ["one that was given away", [stock], [stock], [["stock", "ana"]], { given: ["stock of ana"] }],
  ["a renamed one", [stock], [stock], [["shop", "app"]], { dropped: ["stock"], created: ["shop of app"] }],
  ["a dropped one of a copy", [[0, "stock", "app"]], [stock], [], { dropped: ["stock"] }],
  ["one dropped that the API has renamed since", [stock], [[1, "shop", "app"]], [], { dropped: ["shop"] }],
  ["nothing of what the API has made and not brought yet", [], [stock], [], {}],
  ["nothing of what the API has deleted and not dropped yet", [stock], [], [["stock", "app"]], {}],
  ["nothing of what the API has renamed and not brought yet", [stock], [[1, "shop", "app"]], [["stock", "app"]], {}],
  ["nothing of what was renamed before the rest failed", [stock], [[1, "shop", "app"]], [["shop", "app"]], {}],
  ["nothing of what the API has made in place of one that is gone", [stock], [[2, "stock", "app"]], [], {}],
  [
    "nothing where the API has given one the name of another",
    [stock, [2, "shop", "bob"]],
    [
      [1, "shop", "app"],
      [2, "stock", "bob"],
    ],
    [
      ["stock", "app"],
      ["shop", "bob"],
    ],
    {},
  ],
  ["nothing of an owner that the API has changed since", [stock], [[1, "stock", "bob"]], [["stock", "ana"]], {}],
])("clients have changed %s", (_what, applied, wanted, present, changes) => {
  const found = changesOfClients(catalog(applied), catalog(wanted), presentIn(present));
  const owned = (all: readonly { name: string; ownerName: string }[]) =>
    all.map(({ name, ownerName }) => `${name} of ${ownerName}`);
  expect({
    dropped: found.dropped.map(({ name }) => name),
    given: owned(found.given),
    created: owned(found.created),
  }).toEqual({ dropped: [], given: [], created: [], ...changes });
});

test("what is in the server afterwards counts as brought: a sync that failed later forgets nothing", () => {
  const shop: Database = [2, "shop", "app"];
  const present = presentIn([["shop", "ana"]]);
  const after = afterChanges(catalog([stock]), catalog([stock, shop]), present, new Set());
  expect(after.databases).toEqual([{ id: 2, name: "shop", ownerName: "ana" }]);
});

test("what is recorded has the rights and roles that were brought, and not those that are to come", () => {
  const roles = ["app", "ana"].map((name) => ({ name, login: true, passwordSource: name }));
  const applied = { ...catalog([stock]), roles: roles.slice(0, 1) };
  const after = afterChanges(applied, { ...applied, rights: 4, roles }, presentIn([["stock", "app"]]), new Set());
  expect(after).toEqual(applied);
});

test("what is left of a drop that was broken off is no database, and stays to be dropped", () => {
  const rows = [["stock", "app", "t"]];
  const after = afterChanges(catalog([stock]), catalog([]), presentIn(rows), leftIn(rows));
  expect([[...presentIn(rows)], after.databases]).toEqual([[], catalog([stock]).databases]);
});

test("a thousand databases are compared once each, not each with all: nobody waits for a role that makes them", () => {
  let reads = 0;
  const databases = Array.from({ length: 1000 }, (_, index) => ({
    ownerName: "app",
    get id() {
      reads += 1;
      return index + 1;
    },
    get name() {
      reads += 1;
      return `db${index}`;
    },
  }));
  const all = { rights: 2, roles: [], databases };
  const present = presentIn(Array.from({ length: 1000 }, (_, index) => [`new${index}`, "app"]));
  expect(changesOfClients(all, all, present).dropped).toHaveLength(1000);
  expect(afterChanges(all, all, present, new Set()).databases).toEqual([]);
  expect(reads).toBeLessThan(20 * 1000);
});
