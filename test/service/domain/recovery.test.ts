import { beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { required } from "../../../src/service/refusal.ts";
import { rules } from "../../../src/service/rules.ts";
import type { Answer } from "../support/service.ts";
import { keys, main, preview, primary, project, Shop, staging } from "../support/shop.ts";

const Branch = z.looseObject({ id: z.string(), name: z.string() });
const base = `/projects/${project}/branches`;
const day = 86_400_000;

let shop: Shop;
beforeEach(() => {
  shop = new Shop({ branchRecovery: true });
});

const branchIn = (answer: Answer) => Branch.parse(answer.body["branch"]);
const messageOf = ({ status, body }: Answer) => [status, body["message"]];
const named = (query = "") =>
  z
    .array(Branch)
    .parse(shop.ana(`GET ${base}${query}`).body["branches"])
    .map(({ name }) => name)
    .toSorted();

/** Makes a branch with a primary compute and lets both become ready. */
function made(fields: object): string {
  const { id } = branchIn(shop.ana(`POST ${base}`, { branch: fields, endpoints: [{ type: "read_write" }] }));
  shop.finishOperations();
  return id;
}

it("what is kept with a deleted branch and its computes counts for its project until the branch is forgotten", () => {
  const id = made({ name: "noted" });
  const { branches, endpoints } = shop.core.context.store;
  const kept = () => branches.lengthOfDetails(project) + endpoints.lengthOfSettings(project);
  const before = kept();
  shop.ana(`DELETE ${base}/${id}`);
  expect(kept()).toBe(before);
  shop.ana(`DELETE ${base}/${id}?hard_delete=true`);
  expect(kept()).toBeLessThan(before);
});

it("a deleted branch stays a child of its parent when the children of that go to the branch that keeps its state", () => {
  const [kept, deleted] = [made({ name: "kept", parent_id: preview }), made({ name: "deleted", parent_id: preview })];
  shop.ana(`DELETE ${base}/${deleted}`);
  shop.ana(`POST ${base}/${preview}/restore`, { source_branch_id: main, preserve_under_name: "before" });
  shop.finishOperations();
  const parentOf = (id: string) => branchIn(shop.ana(`GET ${base}/${id}`))["parent_id"];
  const before = shop.core.context.store.branches.list(project).find(({ name }) => name === "before");
  expect([parentOf(kept), parentOf(deleted)]).toEqual([before?.id, preview]);
});

describe("a deleted branch with --branch-recovery", () => {
  it("a deleted branch is shown by its own call with its recovery, and by a list only on request", () => {
    const deleted_at = new Date(shop.time.now()).toISOString();
    shop.ana(`DELETE ${base}/${preview}`);
    const recovery = { deleted_at, recoverable_until: "2026-01-08T00:00:00.000Z", deletion_method: "user" };
    expect(branchIn(shop.ana(`GET ${base}/${preview}`))).toMatchObject({ id: preview, recovery });
    expect(named()).toEqual(["main", "staging"]);
    expect(named("?include_deleted=true")).toEqual(["main", "preview", "staging"]);
    expect(shop.ana(`GET ${base}/count`).body).toMatchObject({ count: 2 });
    expect(branchIn(shop.ana(`GET ${base}/${main}`))).not.toHaveProperty("recovery");
  });

  it("a deleted branch is gone for every other call, with its computes", () => {
    const id = made({ name: "pr-42" });
    shop.ana(`DELETE ${base}/${id}`);
    expect(shop.list().map((endpoint) => endpoint.id)).toEqual([primary]);
    expect(shop.ana(`PATCH ${base}/${id}`, { branch: { name: "other" } }).status).toBe(404);
    expect(shop.ana(`POST ${base}/${id}/restore`, { source_branch_id: main }).status).toBe(404);
    expect(shop.ana(`POST ${base}`, { branch: { parent_id: id } }).status).toBe(404);
    expect(
      shop.ana(`POST /projects/${project}/endpoints`, { endpoint: { branch_id: id, type: "read_only" } }).status,
    ).toBe(404);
    expect(shop.ana(`GET ${base}/${id}/roles`).status).toBe(404);
    expect(shop.ana(`DELETE ${base}/${id}`).status).toBe(204);
    expect(branchIn(shop.ana(`GET ${base}/${id}`))).toHaveProperty("recovery");
  });

  it("keeps its name taken for seven days, and then is forgotten", () => {
    const id = made({ name: "pr-42" });
    shop.ana(`DELETE ${base}/${id}`);
    const again = () => shop.ana(`POST ${base}`, { branch: { name: "pr-42" } });
    expect(messageOf(again())).toEqual([409, 'branch already exists; branch_name:"pr-42"']);
    shop.time.pass(7 * day - 1);
    expect(again().status).toBe(409);
    shop.time.pass(1);
    expect(shop.ana(`GET ${base}/${id}`).status).toBe(404);
    expect(shop.ana(`POST ${base}/${id}/recover`).status).toBe(404);
    expect(again().status).toBe(201);
  });

  it("leaves room for another branch", () => {
    const own = "/projects/bob-own/branches";
    const create = () => {
      shop.finishOperations();
      return shop.send(keys.bob, `POST ${own}`);
    };
    const ids = Array.from({ length: 9 }, create).map((answer) => branchIn(answer).id);
    expect(create().status).toBe(422);
    expect(shop.send(keys.bob, `DELETE ${own}/${ids[0]}`).status).toBe(200);
    expect(create().status).toBe(201);
  });

  it("a project keeps as many deleted branches as it may have branches, those that were deleted last", () => {
    const own = "/projects/bob-own/branches";
    const bob = (line: string, body?: object) => shop.finishOperations().send(keys.bob, line, body);
    const fresh = (name: string) => branchIn(bob(`POST ${own}`, { branch: { name } })).id;
    const [first, second] = [fresh("first"), fresh("second")];
    shop.ana(`DELETE ${base}/${preview}`);
    bob(`DELETE ${own}/${second}`);
    bob(`DELETE ${own}/${first}`);
    const status = (id: string) => bob(`GET ${own}/${id}`).status;
    for (let n = 1; n < 9; n += 1) bob(`DELETE ${own}/${fresh(`more-${n}`)}`);
    expect([status(first), status(second)]).toEqual([200, 200]);
    bob(`DELETE ${own}/${fresh("more-9")}`);
    expect([status(first), status(second)]).toEqual([200, 404]);
    expect(bob(`POST ${own}/${first}/recover`).status).toBe(200);
    expect(bob(`POST ${own}`, { branch: { name: "second" } }).status).toBe(201);
    expect(shop.ana(`GET ${base}/${preview}`).body["branch"]).toHaveProperty("recovery");
  });

  it("a project keeps as many deleted computes as it may have computes, those of branches that were deleted last", () => {
    const deletedWith = (computes: number, name: string) => {
      const { id } = branchIn(shop.finishOperations().ana(`POST ${base}`, { branch: { name } }));
      shop.core.change(({ store: { endpoints } }, at) => {
        const like = endpoints.byId(primary);
        if (!like) throw new Error("the primary is gone");
        const fields = { ...like, branchId: id, type: "read_only", createdAt: at } as const;
        for (let n = 0; n < computes; n += 1) endpoints.insert({ ...fields, id: `${id}-${n}` });
      });
      shop.finishOperations().core.settle();
      expect(shop.ana(`DELETE ${base}/${id}`).status).toBeLessThan(300);
      return id;
    };
    const status = (id: string) => shop.ana(`GET ${base}/${id}`).status;
    const [first, second, third] = [deletedWith(3000, "first"), deletedWith(2000, "second"), deletedWith(10, "third")];
    expect([status(first), status(second), status(third)]).toEqual([404, 200, 200]);
    expect(shop.core.context.store.endpoints.countDeleted(project)).toBe(2010);
  });

  it("many deleted branches are forgotten one by one, once the plan or the computes of later ones leave no room", () => {
    const { branchPages, endpoints } = shop.core.context.store;
    const ids = Array.from({ length: 30 }, (_, n) => made({ name: `pr-${n}` }));
    for (const id of ids) shop.ana(`DELETE ${base}/${id}`);
    const wanted = { search: "", by: "created_at", descending: false, after: undefined, withDeleted: true } as const;
    const page = () => [...branchPages.page(project, { ...wanted, limit: 100 })];
    const listed = () => page().filter(({ deletion }) => deletion !== undefined);
    const deleted = () => listed().length;
    shop.core.change(({ store }, at) => store.branches.forgetBeyond(project, 10, at));
    const inOneTurn = deleted();
    shop.core.settle(shop.time.now(), 5);
    expect([inOneTurn, deleted()]).toEqual([30, 25]);
    shop.core.settle();
    expect([deleted(), endpoints.countDeleted(project)]).toEqual([10, 10]);
    shop.core.change(({ store }, at) => store.branches.forgetComputesBeyond(project, 7, at));
    shop.core.settle();
    expect(listed().map(({ id }) => id)).toEqual(ids.slice(-7));
  });

  it("leaves its name at once when it is deleted for good, at first or later", () => {
    const again = () => shop.ana(`POST ${base}`, { branch: { name: "preview" } });
    shop.ana(`DELETE ${base}/${preview}`);
    expect(again().status).toBe(409);
    expect(shop.ana(`DELETE ${base}/${preview}?hard_delete=true`).status).toBe(204);
    const { id } = branchIn(again());
    shop.finishOperations();
    expect(shop.ana(`DELETE ${base}/${id}?hard_delete=true`).status).toBe(200);
    expect(shop.ana(`GET ${base}/${id}`).status).toBe(404);
    expect(again().status).toBe(201);
  });

  it("a branch is deleted for good by no call on another project, neither before it is deleted nor afterwards", () => {
    const deleteFromEve = () => shop.send(keys.eve, `DELETE /projects/eve-own/branches/${preview}?hard_delete=true`);
    expect(deleteFromEve().status).toBe(204);
    expect(named()).toContain("preview");
    shop.ana(`DELETE ${base}/${preview}`);
    expect(deleteFromEve().status).toBe(204);
    expect(shop.ana(`POST ${base}/${preview}/recover`).status).toBe(200);
  });

  it("comes back with its compute, idle, its annotation and its password", () => {
    const note = { "compute-operator.dev/uid": "0b3c" };
    const wanted = { branch: { name: "pr-42" }, annotation_value: note, endpoints: [{ type: "read_write" }] };
    const { id } = branchIn(shop.ana(`POST ${base}`, wanted));
    shop.finishOperations();
    const endpoint = shop.list().find(({ branch_id }) => branch_id === id);
    const password = () => shop.ana(`GET ${base}/${id}/roles/neondb_owner/reveal_password`).body["password"];
    const before = password();
    shop.ana(`DELETE ${base}/${id}`);
    shop.time.pass(60_000);
    const updated_at = new Date(shop.time.now()).toISOString();
    const answer = shop.ana(`POST ${base}/${id}/recover`);
    const found = [{ id: endpoint?.id, host: endpoint?.host, updated_at }];
    expect(answer).toMatchObject({ status: 200, body: { branch: { updated_at }, endpoints: found } });
    expect(branchIn(answer)).not.toHaveProperty("recovery");
    expect(shop.get(endpoint?.id ?? "")).toMatchObject({ current_state: "idle", branch_id: id });
    expect(shop.ana(`GET ${base}/${id}`).body["annotation"]).toMatchObject({ value: note });
    expect(password()).toBe(before);
    shop.connect(endpoint?.id ?? "");
    expect(shop.finishOperations().get(endpoint?.id ?? "").current_state).toBe("active");
  });

  it("comes back with a compute that rests, although it was active when the branch was deleted", () => {
    const id = made({ name: "pr-42" });
    shop.time.pass(60_000);
    shop.ana(`DELETE ${base}/${id}`);
    const used = () => branchIn(shop.ana(`GET ${base}/${id}`))["active_time_seconds"];
    const [before, operations] = [used(), shop.operations()];
    shop.time.pass(3_600_000);
    expect(shop.ana(`POST ${base}/${id}/recover`).status).toBe(200);
    shop.time.pass(3_600_000);
    expect([used(), shop.operations()]).toEqual([before, operations]);
  });

  it("a branch that ended at its time has no end when it comes back", () => {
    const id = made({ name: "pr-42", expires_at: "2026-01-01T01:00:00Z" });
    shop.time.pass(3_600_000);
    expect(branchIn(shop.ana(`GET ${base}/${id}`))).toMatchObject({ recovery: { deletion_method: "ttl" } });
    const recovered = branchIn(shop.ana(`POST ${base}/${id}/recover`));
    expect(recovered).not.toHaveProperty("expires_at");
    expect(recovered).not.toHaveProperty("ttl_interval_seconds");
    shop.time.pass(30 * day);
    expect(branchIn(shop.ana(`GET ${base}/${id}`)).name).toBe("pr-42");
  });

  it.each([true, false])(
    "comes back once what its end has overtaken is over, with a project's lock %s",
    (projectLock) => {
      shop = new Shop({ branchRecovery: true, projectLock });
      const id = made({ name: "pr-42" });
      const compute = shop.core.context.store.endpoints.ofBranch(id)[0]?.id ?? "";
      const call = (verb: string) => shop.ana(`POST /projects/${project}/endpoints/${compute}/${verb}`).status;
      expect(call("suspend")).toBe(200);
      shop.finishOperations().ana(`PATCH ${base}/${id}`, { branch: { expires_at: "2026-01-01T00:00:07Z" } });
      shop.time.pass(900);
      expect(call("start")).toBe(200);
      shop.time.pass(100);
      const recover = () => shop.ana(`POST ${base}/${id}/recover`).status;
      expect(recover()).toBe(423);
      expect(shop.finishOperations() && recover()).toBe(200);
      shop.patch(compute, { disabled: true });
      expect(shop.finishOperations().get(compute)).toMatchObject({ disabled: true, current_state: "idle" });
    },
  );

  it("shows the end that it had, also where that of its recovery is put off", () => {
    const id = made({ name: "pr-42", expires_at: "2026-01-01T01:00:00Z" });
    shop.ana(`DELETE ${base}/${id}`);
    shop.core.change(({ store }) => store.branches.postpone(id, Date.UTC(2026, 1, 1)));
    expect(branchIn(shop.ana(`GET ${base}/${id}`))).toMatchObject({
      expires_at: "2026-01-01T01:00:00Z",
      recovery: { recoverable_until: "2026-02-01T00:00:00.000Z" },
    });
  });

  it("comes back while another branch of its project is busy", () => {
    shop = new Shop({ branchRecovery: true, projectLock: false });
    const id = made({ name: "pr-42" });
    shop.ana(`DELETE ${base}/${id}`);
    shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
    expect(shop.ana(`POST ${base}/${id}/recover`).status).toBe(200);
  });

  it("waits for its parent, if that was deleted too", () => {
    const id = made({ parent_id: staging });
    shop.ana(`DELETE ${base}/${id}`);
    expect(shop.ana(`DELETE ${base}/${staging}`).status).toBe(200);
    const recover = (branch: string) => shop.ana(`POST ${base}/${branch}/recover`);
    expect(messageOf(recover(id))).toEqual([422, expect.stringContaining(`recover ${staging} first`)]);
    expect([recover(staging).status, recover(id).status]).toEqual([200, 200]);
  });
});

describe("a deleted branch that no longer fits", () => {
  const recover = (branch: string) => shop.ana(`POST ${base}/${branch}/recover`);

  it("a deleted branch stays deleted while its parent has an end, with which it would be left without a parent", () => {
    const id = made({ parent_id: staging });
    shop.ana(`DELETE ${base}/${id}`);
    const endsAt = (expires_at: string | null) =>
      shop.ana(`PATCH ${base}/${staging}`, { branch: { expires_at } }).status;
    expect(endsAt("2026-01-02T00:00:00Z")).toBe(200);
    expect(messageOf(recover(id))).toEqual([422, "a branch that expires cannot have child branches"]);
    expect([endsAt(null), recover(id).status]).toEqual([200, 200]);
  });

  it("a deleted branch stays deleted while its project has as many branches as it may have", () => {
    const own = "/projects/bob-own/branches";
    const bob = (line: string) => shop.finishOperations().send(keys.bob, line);
    const ids = Array.from({ length: 9 }, () => branchIn(bob(`POST ${own}`)).id);
    bob(`DELETE ${own}/${ids[0]}`);
    bob(`POST ${own}`);
    const answer = bob(`POST ${own}/${ids[0]}/recover`);
    expect(messageOf(answer)).toEqual([422, expect.stringContaining("at most 10 branches")]);
    expect(bob(`GET ${own}/${ids[0]}`).body["branch"]).toHaveProperty("recovery");
    bob(`DELETE ${own}/${ids[1]}`);
    expect(bob(`POST ${own}/${ids[0]}/recover`).status).toBe(200);
  });

  it("a deleted branch without a parent stays deleted while its project has as many of these as its plan allows", () => {
    shop = new Shop({ branchRecovery: true, rules: rules.neon });
    const own = "/projects/bob-own/branches";
    const bob = (line: string, body?: object) => shop.finishOperations().send(keys.bob, line, body);
    const root = () => branchIn(bob(`POST ${own}`, { branch: { parent_id: "br-bob", init_source: "schema-only" } })).id;
    const [first] = [root(), root()];
    bob(`DELETE ${own}/${first}`);
    root();
    const answer = bob(`POST ${own}/${first}/recover`);
    expect(messageOf(answer)).toEqual([422, expect.stringContaining("at most 3 root branches")]);
  });

  it("a deleted branch stays deleted with its computes while its project has no room for them", () => {
    const id = made({ name: "pr-42" });
    shop.ana(`DELETE ${base}/${id}`);
    const { endpoints } = shop.core.context.store;
    const compute = { ...required("compute", endpoints.byId(primary)), type: "read_only" } as const;
    shop.core.change(() => {
      for (let n = endpoints.count(project); n < 5000; n += 1) endpoints.insert({ ...compute, id: `ep-${n}` });
    });
    expect(messageOf(recover(id))).toEqual([422, expect.stringContaining("at most 5000 computes")]);
    shop.ana(`DELETE /projects/${project}/endpoints/ep-2000`);
    expect(recover(id)).toMatchObject({ status: 200, body: { endpoints: [{ branch_id: id }] } });
  });
});

it("without --branch-recovery a deleted branch is gone for good, and its name free", () => {
  shop = new Shop();
  shop.ana(`DELETE ${base}/${preview}`);
  expect(shop.ana(`GET ${base}/${preview}`).status).toBe(404);
  expect(shop.ana(`POST ${base}/${preview}/recover`).status).toBe(404);
  expect(shop.ana(`POST ${base}`, { branch: { name: "preview" } }).status).toBe(201);
});

it("a branch that was recovered once can be deleted and recovered again, with its computes in their order", () => {
  const id = made({ name: "pr-42" });
  for (let more = 0; more < 5; more += 1) {
    shop.create({ branch_id: id, type: "read_only" });
    shop.finishOperations();
  }
  const computes = () => shop.list().map((endpoint) => endpoint.id);
  const before = computes();
  for (let times = 0; times < 3; times += 1) {
    expect(shop.ana(`DELETE ${base}/${id}`).status).toBe(200);
    expect(computes()).toEqual([primary]);
    expect(shop.ana(`POST ${base}/${id}/recover`).body["endpoints"]).toHaveLength(6);
    expect(computes()).toEqual(before);
  }
});

it("a deleted branch stays deleted with a compute that the plan of its project's new owner does not include", () => {
  const id = made({ name: "pr-42" });
  const [compute] = shop.core.context.store.endpoints.ofBranch(id);
  shop.patch(compute?.id ?? "", { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 });
  shop.finishOperations();
  shop.ana(`DELETE ${base}/${id}`);
  shop.send(undefined, `PUT /_admin/projects/${project}/owner`, { owner: "acc-bob" });
  expect(messageOf(shop.send(keys.bob, `POST ${base}/${id}/recover`))).toEqual([
    422,
    expect.stringContaining("the free plan ends at 2 CU"),
  ]);
  expect(branchIn(shop.send(keys.bob, `GET ${base}/${id}`))).toHaveProperty("recovery");
});

/** The statements that a call runs, in order. */
function statementsOf(line: string, body?: object): string[] {
  shop.core.nextDue();
  const asks = (["one", "all", "run"] as const).map((kind) => vi.spyOn(shop.database, kind));
  const { status } = shop.ana(line, body);
  const statements = asks.flatMap(({ mock }) => mock.calls.map(([sql]) => sql));
  for (const spy of asks) spy.mockRestore();
  expect([line, status]).toEqual([line, 200]);
  return statements;
}

it("a branch comes back with hundreds of computes by as many statements as with one, all idle and in their order", () => {
  const one = made({ name: "one", parent_id: main });
  const many = made({ name: "many", parent_id: main });
  const { endpoints } = shop.core.context.store;
  const [like] = endpoints.ofBranch(many);
  if (!like) throw new Error("the compute is gone");
  shop.core.change((_, at) => {
    for (let n = 0; n < 300; n += 1)
      endpoints.insert({ ...like, id: `ep-more-${(n * 7) % 300}`, type: "read_only", meteredAt: at });
  });
  const order = endpoints.ofBranch(many).map(({ id }) => id);
  for (const id of [one, many]) shop.ana(`DELETE ${base}/${id}`);
  shop.create({ branch_id: main, type: "read_only" });
  shop.finishOperations().ana("GET /auth");
  const recover = (id: string) => statementsOf(`POST ${base}/${id}/recover`);
  expect(recover(many)).toEqual(recover(one));
  expect(endpoints.ofBranch(many).map(({ id }) => id)).toEqual(order);
  expect(
    endpoints
      .list(project)
      .map(({ branchId }) => branchId)
      .indexOf(many),
  ).toBe(2);
  expect(new Set(endpoints.ofBranch(many).map((each) => `${each.currentState} ${each.meteredAt}`))).toEqual(
    new Set(["idle undefined"]),
  );
  expect([endpoints.countDeleted(project), endpoints.count(project)]).toEqual([0, 304]);
});

it("computes that come back have the next numbers, so that nobody uses these up with branches that come and go", () => {
  const side = made({ name: "side", parent_id: main });
  const computes = Array.from({ length: 9 }, () => {
    const { endpoint } = shop.create({ branch_id: main, type: "read_only" });
    shop.finishOperations();
    return endpoint.id;
  });
  const numbers = () => shop.database.all("SELECT seq FROM endpoints ORDER BY seq").map(({ seq }) => Number(seq));
  for (const id of [computes.at(0) ?? "", computes.at(-1) ?? ""]) {
    shop.patch(id, { branch_id: side });
    shop.finishOperations();
  }
  const others = numbers().at(-2) ?? 0;
  shop.ana(`DELETE ${base}/${side}`);
  expect(shop.ana(`POST ${base}/${side}/recover`).status).toBe(200);
  expect(numbers().slice(-3)).toEqual([others + 1, others + 2, others + 3]);
});
