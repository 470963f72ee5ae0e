import { describe, expect, it, onTestFinished } from "vitest";
import type { ServiceReply } from "../../../src/service/http/message.ts";
import { Rows, textOf } from "../../../src/service/http/rows.ts";
import { keys, main, preview, primary, project, Shop } from "../support/shop.ts";

/** Rows, a clock that each look moves by ten milliseconds, and turns; `turns` has the rows that each of them showed. */
function slow(count: number) {
  let now = 0;
  const turns: number[][] = [[]];
  const clock = { now: () => (now += 10) };
  const turn = async () => {
    await new Promise<void>((next) => setImmediate(next));
    turns.push([]);
  };
  const all = Array.from({ length: count }, (_, n) => n);
  const view = (n: number) => {
    turns.at(-1)?.push(n);
    return n === 3 ? undefined : { n };
  };
  return { turns, rows: new Rows(all, view), all: { clock, begun: clock.now(), turn } };
}

const shown = [{ n: 0 }, { n: 1 }, { n: 2 }, { n: 4 }, { n: 5 }, { n: 6 }];

describe("the text of long lists", () => {
  it("a long list is written in turns of the loop, each of which begins no row more once it has taken long", async () => {
    const { rows, turns, all } = slow(7);
    expect(await textOf(rows, all)).toBe(JSON.stringify(shown));
    expect(turns).toEqual([[0, 1, 2], [3, 4, 5], [6]]);
  });

  it("a list is written at once where one turn is enough, or where nobody else waits for a turn", () => {
    expect(textOf(slow(1).rows, slow(1).all)).toBe('[{"n":0}]');
    const { rows, turns, all } = slow(7);
    expect(textOf(rows, { ...all, turn: undefined })).toBe(JSON.stringify(shown));
    expect(turns).toHaveLength(1);
  });

  it.each([
    [[true, false, false], "[1,2]", '{"1":1,"2":2}'],
    [[true, true, true], "[]", "{}"],
    [[false, true, true], "[0]", '{"0":0}'],
  ])("a list and an object are JSON whichever rows are left out: %j", (hidden, list, object) => {
    const view = (n: number) => (hidden[n] === true ? undefined : n);
    const { all } = slow(0);
    expect(textOf(new Rows([0, 1, 2], view), { ...all, turn: undefined })).toBe(list);
    expect(textOf(new Rows([0, 1, 2], view, String), { ...all, turn: undefined })).toBe(object);
  });

  it("a body without a list is written at once, however long its call has taken", () => {
    const { all } = slow(0);
    const late = { ...all, begun: all.begun - 1000 };
    expect([{ id: "a" }, [1], "text", null].map((body) => textOf(body, late))).toEqual([
      '{"id":"a"}',
      "[1]",
      '"text"',
      "null",
    ]);
  });

  it("lists and objects stand among other fields as JSON has them", () => {
    const { all } = slow(0);
    const named = (list: readonly string[]) => new Rows(list, (name) => [name], String);
    const body = {
      none: new Rows([], String),
      no: undefined,
      names: named(['"', "b"]),
      nobody: named([]),
      page: { at: 1 },
    };
    const text = textOf(body, { ...all, turn: undefined });
    expect(text).toBe('{"none":[],"names":{"\\"":["\\""],"b":["b"]},"nobody":{},"page":{"at":1}}');
    expect(textOf([1, "a"], all)).toBe('[1,"a"]');
  });

  it("a long list is written no further once its client has left", async () => {
    const { rows, turns, all } = slow(7);
    const leaving = new AbortController();
    const turn = () => {
      leaving.abort();
      return all.turn();
    };
    await expect(textOf(rows, { ...all, turn, gone: leaving.signal })).rejects.toThrow("the client has left");
    expect(turns).toEqual([[0, 1, 2], []]);
  });
});

/** Asks for a list, for which a turn of the loop has time for one row. */
function asked(shop: Shop, path: string) {
  const begin = Promise.withResolvers<void>();
  let turns = 0;
  const turn = () => {
    turns += 1;
    return begin.promise;
  };
  shop.time.readsTake(30);
  onTestFinished(() => shop.time.readsTake(0));
  const headers = { authorization: `Bearer ${keys.ana}` };
  const reply = shop.core.call({ method: "GET", path: `/api/v2${path}`, headers, turn });
  shop.time.readsTake(0);
  const whole = async () => {
    shop.time.readsTake(30);
    begin.resolve();
    const { body }: ServiceReply = await (reply.later ?? reply);
    shop.time.readsTake(0);
    return { body, turns };
  };
  return whole;
}

/** The ids and names in a body. Figures of usage grow with the clock. */
function idsIn(body = ""): string[] {
  return body.match(/"(id|name)":[^,}]+/g) ?? [];
}

const branch = `/projects/${project}/branches/${main}`;

describe("a list of the API", () => {
  it.each([
    ["branches", `/projects/${project}/branches`, 3],
    ["computes of a project", `/projects/${project}/endpoints`, 2],
    ["computes of a branch", `${branch}/endpoints`, 2],
    ["keys", "/organizations/org-shop/api_keys", 2],
    ["roles", `${branch}/roles`, 2],
    ["databases", `${branch}/databases`, 2],
  ])("a list of %s is written in turns, and is the same as in one", async (_, path, rows) => {
    const shop = new Shop({ rateLimits: undefined });
    shop.create({ branch_id: main, type: "read_only" });
    shop.finishOperations();
    const made = { role: { name: "more" }, database: { name: "more", owner_name: "more" } };
    shop.ana(`POST ${branch}/roles`, { role: made.role });
    shop.finishOperations();
    shop.ana(`POST ${branch}/databases`, { database: made.database });
    shop.finishOperations();
    const { body, turns } = await asked(shop, path)();
    expect(turns).toBeGreaterThanOrEqual(rows);
    expect(idsIn(body)).toEqual(idsIn(JSON.stringify(shop.ana(`GET ${path}`).body)));
  });

  it("a list has one state, whatever changes between its turns, and is kept for no later call after a change", async () => {
    const shop = new Shop({ rateLimits: undefined });
    shop.create({ branch_id: main, type: "read_only" });
    shop.finishOperations();
    const [branches, endpoints] = [`/projects/${project}/branches`, `/projects/${project}/endpoints`];
    const before = [branches, endpoints].map((path) => shop.ana(`GET ${path}`).body);
    shop.patch(primary, { name: "touched" });
    shop.patch(primary, { name: "again" });
    const [first, second] = [asked(shop, branches), asked(shop, endpoints)];
    const now = shop.ana(`GET ${endpoints}`).body;
    shop.ana(`DELETE /projects/${project}/branches/${preview}`);
    shop.finishOperations();
    shop.patch(primary, { name: "after" });
    expect(JSON.parse((await first()).body ?? "")).toEqual(before[0]);
    expect(JSON.parse((await second()).body ?? "")).toEqual(now);
    expect(shop.list().map(({ name }) => name)).toContain("after");
    expect(shop.ana(`GET ${branches}`).body["branches"]).toHaveLength(2);
  });
});
