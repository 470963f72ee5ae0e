import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { main, preview, project, Shop, staging } from "../support/shop.ts";

const base = `/projects/${project}/branches`;
const Changed = z.looseObject({
  branch: z.looseObject({ id: z.string(), parent_id: z.string().optional() }),
  operations: z.array(z.looseObject({ action: z.string(), branch_id: z.string() })),
});

let shop: Shop;
/** What the branches' Postgres is asked to do, without the time of the call. */
let asked: unknown[][];
beforeEach(() => {
  shop = new Shop();
  asked = [];
  const { catalog } = shop.core.context;
  const spies = [
    vi
      .spyOn(catalog, "copyToNew")
      .mockImplementation((from, to, _, what) => void asked.push(["new", from, to, what?.point])),
    vi
      .spyOn(catalog, "replace")
      .mockImplementation((from, to, _, point) => void asked.push(["replace", from, to, point])),
    vi.spyOn(catalog, "rewind").mockImplementation((...given) => void asked.push(["rewind", ...given])),
  ];
  onTestFinished(() => spies.forEach((spy) => spy.mockRestore()));
  shop.time.pass(60_000);
});

function changed(line: string, body: object): z.infer<typeof Changed> {
  const answer = shop.ana(line, body);
  expect([answer.status < 300, answer.body["message"]]).toEqual([true, undefined]);
  shop.finishOperations();
  return Changed.parse(answer.body);
}

const restored = (id: string, body: object) => changed(`POST ${base}/${id}/restore`, body);
const minuteAgo = () => new Date(shop.time.now() - 60_000).toISOString();

it.each([
  ["as it is", {}, {}, undefined],
  ["at an LSN", { parent_lsn: "0/10" }, { source_lsn: "0/10" }, { kind: "lsn", lsn: "0/10" }],
])("a branch gets the data of the branch that is named, %s, and not of the default one", (_, parent, source, point) => {
  const { branch } = changed(`POST ${base}`, { branch: { parent_id: preview, ...parent } });
  expect(branch.parent_id).toBe(preview);
  const { branch: after } = restored(staging, { source_branch_id: preview, ...source });
  expect(after["parent_lsn"]).toBe("source_lsn" in source ? source.source_lsn : undefined);
  expect(asked).toEqual([
    ["new", preview, branch.id, point],
    ["replace", preview, staging, point],
  ]);
});

it("a branch gets the data of a time that is named", () => {
  const [at, time] = [Date.parse(minuteAgo()), minuteAgo()];
  const { branch } = changed(`POST ${base}`, { branch: { parent_id: preview, parent_timestamp: time } });
  const { branch: after } = restored(staging, { source_branch_id: preview, source_timestamp: time });
  expect(Date.parse(String(after["parent_timestamp"]))).toBe(at);
  const { branch: again } = restored(staging, { source_branch_id: preview });
  expect(again["parent_timestamp"]).toBeUndefined();
  asked.pop();
  expect(asked).toEqual([
    ["new", preview, branch.id, { kind: "time", at }],
    ["replace", preview, staging, { kind: "time", at }],
  ]);
});

it("a branch is rewound from the one that keeps what it was, which has its parent and its data", () => {
  const expires_at = new Date(shop.time.now() + 86_400_000).toISOString();
  const child = changed(`POST ${base}`, { branch: { parent_id: preview, expires_at } }).branch.id;
  asked = [];
  const time = minuteAgo();
  const { branch, operations } = restored(child, {
    source_branch_id: child,
    source_timestamp: time,
    preserve_under_name: "before",
  });
  const kept = String(branch.parent_id);
  expect(asked).toEqual([
    ["new", child, kept, undefined],
    ["rewind", kept, child, { kind: "time", at: Date.parse(time) }],
  ]);
  expect(Changed.shape.branch.parse(shop.ana(`GET ${base}/${kept}`).body["branch"])).toMatchObject({
    name: "before",
    parent_id: preview,
  });
  expect(shop.ana(`GET ${base}/${kept}`).body["branch"]).not.toHaveProperty("expires_at");
  // Its creation is an operation of the answer.
  expect(operations).toMatchObject([{ action: "create_branch", branch_id: kept }]);
});

it.each([
  ["its own", preview],
  ["its source's", main],
  ["another's", staging],
])("a branch is not restored while an operation of %s branch runs", (_, busy) => {
  shop.create({ branch_id: busy, type: "read_only" });
  const before = shop.ana(`GET ${base}`).body;
  expect(shop.ana(`POST ${base}/${preview}/restore`, { source_branch_id: main }).status).toBe(423);
  expect([asked, shop.ana(`GET ${base}`).body]).toEqual([[], before]);
});

it("a restore gives all children another parent at once, and reads none of them", () => {
  const made = (branch: object) => {
    const answer = shop.ana(`POST /projects/${project}/branches`, { branch });
    shop.finishOperations();
    return String(Object(answer.body["branch"])["id"]);
  };
  const children = Array.from({ length: 20 }, (_, n) => made({ name: `child ${n}`, parent_id: preview }));
  const other = made({ name: "child of main", parent_id: main });
  shop.time.pass(60_000);
  const source_timestamp = new Date(shop.time.now() - 1000).toISOString();
  const body = { source_branch_id: preview, source_timestamp, preserve_under_name: "before" };
  const { branches } = shop.core.context.store;
  const [updated, listed] = [vi.spyOn(branches, "update"), vi.spyOn(branches, "list")];
  const all = vi.spyOn(shop.database, "all");
  expect(shop.ana(`POST /projects/${project}/branches/${preview}/restore`, body).status).toBe(200);
  expect([updated.mock.calls.length, listed.mock.calls.length]).toEqual([1, 0]);
  expect(Math.max(...all.mock.results.map(({ value }) => Object(value).length))).toBeLessThan(20);
  const parents = [...children, other].map((id) => branches.byId(branches.byId(id)?.parentId ?? "")?.name);
  expect(parents).toEqual([...children.map(() => "before"), "main"]);
});
