import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { BranchDetails } from "../../../src/service/store/details.ts";
import { main, preview, primary, project, Shop } from "../support/shop.ts";

const path = `/projects/${project}/branches`;
const List = z.object({
  branches: z.array(z.looseObject({ id: z.string(), name: z.string(), cpu_used_sec: z.number() })),
  pagination: z.object({ next: z.string().optional() }),
});

let shop: Shop;
beforeEach(() => {
  shop = new Shop({ branchRecovery: true });
});

const list = (query = "") => List.parse(shop.ana(`GET ${path}${query}`).body);

/** Adds branches of main with these names. */
function add(...names: string[]): void {
  addAt(shop.time.now(), ...names);
}

function addAt(at: number, ...names: string[]): void {
  shop.core.change(({ store }) =>
    names.forEach((name, index) =>
      store.branches.insert({
        id: `br-${shop.core.context.ids.name()}`,
        projectId: project,
        parentId: main,
        name,
        isDefault: false,
        isProtected: false,
        currentState: "ready",
        details: BranchDetails.parse({}),
        expiresAt: undefined,
        createdAt: at + index,
      }),
    ),
  );
}

it("a list of branches costs as many statements as before, however many it shows", () => {
  const statements = () => {
    const spies = [vi.spyOn(shop.database, "one"), vi.spyOn(shop.database, "all")];
    list();
    const count = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
    spies.forEach((spy) => spy.mockRestore());
    return count;
  };
  list();
  const before = statements();
  add(...Array.from({ length: 500 }, (_, index) => `more-${index}`));
  // The first list after a change also looks for what is due.
  expect([list().branches.length, statements()]).toEqual([503, before]);
});

it("a page of branches reads those that it shows and the one after them", () => {
  add(...Array.from({ length: 500 }, (_, index) => `more-${index}`));
  const all = vi.spyOn(shop.database, "all");
  list("?limit=7");
  const read = all.mock.results.flatMap(({ value }) => z.array(z.looseObject({})).parse(value));
  all.mockRestore();
  expect(read.filter((row) => "details" in row && "parent_id" in row)).toHaveLength(8);
});

it("pages of branches follow each other in the order asked for, each branch once", () => {
  add("Zebra", "apple", "\u00c4pfel", "10", "9", "zoo");
  const names = ["10", "9", "\u00c4pfel", "apple", "main", "preview", "staging", "Zebra", "zoo"];
  for (const order of ["asc", "desc"]) {
    const seen: string[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const page = list(`?sort_by=name&sort_order=${order}&limit=2&cursor=${cursor}`);
      seen.push(...page.branches.map(({ name }) => name));
      cursor = page.pagination.next;
    }
    expect(seen).toEqual(order === "asc" ? names : names.toReversed());
  }
});

it("branches whose names differ in accents and cases alone are listed by their age: none are compared for long", () => {
  add("\u00c4", "A\u0300\u0301", "A", "a");
  const names = list("?sort_by=name&sort_order=asc").branches.map(({ name }) => name);
  expect(names.slice(0, 4)).toEqual(["\u00c4", "A\u0300\u0301", "A", "a"]);
});

describe("a list of branches that change while a client is paging", () => {
  const listed = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const pages = (query: string, between: (page: string[]) => void) => {
    const seen: string[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const page = list(`?${query}&limit=3&cursor=${cursor}`);
      const names = page.branches.map(({ name }) => name);
      seen.push(...names);
      cursor = page.pagination.next;
      between(names);
    }
    return seen;
  };

  it.each(
    ["name", "created_at", "updated_at"].flatMap((by) =>
      ["asc", "desc"].map((order) => `sort_by=${by}&sort_order=${order}`),
    ),
  )("a list of branches in the order %s shows each that stays once, though others go and come before it", (query) => {
    add(...listed);
    let made = 0;
    const before = pages(query, () => {});
    const { branches } = shop.core.context.store;
    const seen = pages(query, (page) => {
      const gone = branches.list(project).filter(({ name }) => page.includes(name) && name !== "main");
      shop.core.change(() => gone.forEach(({ id }) => branches.delete(id)));
      addAt(shop.time.now() - 1000, `${page[0]} ${made}`);
      made += 1;
    });
    expect(seen.filter((name) => !/ \d$/.test(name))).toEqual(before);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it.each([
    "1",
    "soon",
    "e30",
    Buffer.from('["main"]').toString("base64url"),
    Buffer.from('[{}, "main"]').toString("base64url"),
    Buffer.from("[1,2,3]").toString("base64url"),
    "A".repeat(3000),
  ])("a list of branches takes no cursor that is none: %s", (cursor) => {
    const { status, body } = shop.ana(`GET ${path}?cursor=${cursor}`);
    expect([status, body["message"]]).toEqual([400, expect.stringContaining("must be the cursor of the page before")]);
  });

  it("a list of branches goes on after a cursor of another order, of a branch that is gone, or of another project", () => {
    const next = list("?sort_by=name&sort_order=asc&limit=1").pagination.next;
    for (const by of ["name", "created_at", "updated_at"]) {
      expect(shop.ana(`GET ${path}?sort_by=${by}&cursor=${next}`).status).toBe(200);
      expect(shop.ana(`GET /projects/shop-two/branches?sort_by=${by}&cursor=${next}`).status).toBe(200);
    }
  });
});

it("a list of branches shows of each what its own call shows, also of deleted ones", () => {
  shop.create({ branch_id: preview, type: "read_write", autoscaling_limit_min_cu: 2 });
  shop.finishOperations();
  shop.time.pass(100_000);
  shop.ana(`POST ${path}`, { branch: { name: "gone" } });
  shop.finishOperations();
  const gone = list("?search=gone").branches[0]?.id ?? "";
  shop.ana(`DELETE ${path}/${gone}`);
  const shown = list("?include_deleted=true&sort_by=created_at&sort_order=asc").branches;
  expect(shown.map(({ id }) => id)).toContain(gone);
  expect(list().branches.map(({ id }) => id)).not.toContain(gone);
  for (const branch of shown) expect(branch).toEqual(shop.ana(`GET ${path}/${branch.id}`).body["branch"]);
  expect(shown.find(({ id }) => id === preview)?.cpu_used_sec).toBeGreaterThan(190);
});

describe("a list of branches", () => {
  const named = (query: string) => list(query).branches.map(({ name }) => name);

  beforeEach(() => {
    shop.time.pass(1000);
    shop.ana(`POST ${path}`, { branch: { name: "later" } });
    shop.finishOperations();
    shop.ana(`PATCH ${path}/${preview}`, { branch: { name: "renamed" } });
  });

  it.each([
    ["created_at", "asc", ["main", "renamed", "staging", "later"]],
    ["created_at", "desc", ["later", "staging", "renamed", "main"]],
    ["updated_at", "asc", ["main", "staging", "later", "renamed"]],
    ["updated_at", "desc", ["renamed", "later", "staging", "main"]],
  ])("a list of branches is in the order of %s, %s", (by, order, names) => {
    expect(named(`?sort_by=${by}&sort_order=${order}`)).toEqual(names);
  });

  it("a list of branches by creation holds to the time, not to the order in which they came", () => {
    addAt(shop.time.now() - 86_400_000, "earlier");
    expect(named("?sort_by=created_at&sort_order=asc")).toEqual(["earlier", "main", "renamed", "staging", "later"]);
  });

  it("a list of branches begins with what changed last, and says its order", () => {
    expect(named("")).toEqual(["renamed", "later", "staging", "main"]);
    expect(shop.ana(`GET ${path}`).body["pagination"]).toEqual({ sort_by: "updated_at", sort_order: "desc" });
    expect(shop.ana(`GET ${path}?sort_by=size`).status).toBe(400);
  });

  it("a list of branches holds deleted ones only where they are asked for, and their number never", () => {
    shop.ana(`DELETE ${path}/${preview}`);
    shop.finishOperations();
    expect(named("?sort_by=name&sort_order=asc")).toEqual(["later", "main", "staging"]);
    expect(named("?sort_by=name&sort_order=asc&include_deleted=true")).toEqual(["later", "main", "renamed", "staging"]);
    expect(shop.ana(`GET ${path}/count`).body).toEqual({ count: 3 });
  });

  it.each([
    ["LATER", 1],
    ["br-aged", 1],
    ["nothing", 0],
    ["x".repeat(256), 0],
  ])("a list of branches and their number are those that %s finds, by name or id", (search, count) => {
    expect(named(`?search=${search}`)).toHaveLength(count);
    expect(shop.ana(`GET ${path}/count?search=${search}`).body).toEqual({ count });
  });

  it.each([path, `${path}/count`])("a list of branches is searched for no more than 256 characters: %s", (call) => {
    expect(shop.ana(`GET ${call}?search=${"x".repeat(257)}`).status).toBe(400);
  });
});

it("each branch of a page is read once, for the list and for the annotations", () => {
  const made = { branch: { name: "noted" }, annotation_value: { commit: "abc" } };
  const { id } = z
    .object({ branch: z.looseObject({ id: z.string() }) })
    .parse(shop.ana(`POST ${path}`, made).body).branch;
  const read = vi.spyOn(BranchDetails, "parse");
  onTestFinished(() => read.mockRestore());
  const { branches, annotations } = shop.ana(`GET ${path}`).body;
  expect(read).toHaveBeenCalledTimes(4);
  expect(branches).toHaveLength(4);
  expect(annotations).toEqual({ [id]: expect.objectContaining({ value: { commit: "abc" } }) });
});

it.each(["__proto__", "\\u005f_proto__"])(
  "an annotation is refused that has the name %s, and makes nothing",
  (name) => {
    const answer = shop.ana(`POST ${path}`, `{"annotation_value":{"a":"1","${name}":"2"}}`);
    expect([answer.status, answer.body["message"]]).toEqual([
      400,
      "the request body has a field __proto__: give it another name",
    ]);
    expect(list().branches).toHaveLength(3);
  },
);

it("an annotation keeps other names of JavaScript's, and __proto__ as a text", () => {
  const note = { constructor: "1", toString: "2", hasOwnProperty: "3", 'a,"__proto__': ',{"__proto__":' };
  const made = z
    .object({ branch: z.looseObject({ id: z.string() }) })
    .parse(shop.ana(`POST ${path}`, { annotation_value: note }).body).branch;
  expect(shop.ana(`GET ${path}/${made.id}`).body["annotation"]).toMatchObject({ value: note });
});

it("the answer to a deletion shows the usage of the branch until then", () => {
  const { endpoint } = shop.create({ branch_id: preview, type: "read_write" });
  shop.finishOperations();
  expect(shop.connect(endpoint.id, 60).status).toBe(200);
  // The usage after the connection is not recorded yet.
  shop.time.pass(90_000);
  const { active_time_seconds } = z
    .object({ branch: z.looseObject({ active_time_seconds: z.number() }) })
    .parse(shop.ana(`GET ${path}/${preview}`).body).branch;
  expect(active_time_seconds).toBeGreaterThanOrEqual(90);
  expect(shop.ana(`DELETE ${path}/${preview}`).body["branch"]).toMatchObject({ active_time_seconds });
});

it("the computes of a branch are listed without those of the project's others, in both lists in the order of creation", () => {
  const { endpoint: first } = shop.create({ branch_id: preview, type: "read_only" });
  shop.finishOperations();
  const { endpoint: second } = shop.create({ branch_id: preview, type: "read_write" });
  const idsIn = (where: string) =>
    z.object({ endpoints: z.array(z.object({ id: z.string() })) }).parse(shop.ana(`GET ${where}`).body).endpoints;
  expect(idsIn(`${path}/${preview}/endpoints`)).toEqual([{ id: first.id }, { id: second.id }]);
  expect(idsIn(`/projects/${project}/endpoints`)).toEqual([{ id: primary }, { id: first.id }, { id: second.id }]);
});
