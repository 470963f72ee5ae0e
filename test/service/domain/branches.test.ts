import { beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { OperationsAnswer } from "../../../src/api/operation.ts";
import { type Answer } from "../support/service.ts";
import { keys, main, preview, primary, project, Shop, staging } from "../support/shop.ts";

const Branch = z.looseObject({ id: z.string(), name: z.string(), parent_id: z.string().optional() });
const base = `/projects/${project}/branches`;

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
});

const branchIn = (answer: Answer) => Branch.parse(answer.body["branch"]);
const messageOf = ({ status, body }: Answer) => [status, body["message"]];
const branch = (id: string) => branchIn(shop.ana(`GET ${base}/${id}`));

/** Makes a branch and lets its creation end. */
function made(fields: object = {}): z.infer<typeof Branch> {
  const answer = shop.ana(`POST ${base}`, { branch: fields });
  expect(messageOf(answer)).toEqual([201, undefined]);
  shop.finishOperations();
  return branchIn(answer);
}

const later = (ms: number) => new Date(shop.time.now() + ms).toISOString();
/** A time to come as the service shows the end of a branch. */
const inSeconds = (ms: number) => later(ms).replace(".000Z", "Z");

describe("creating a branch", () => {
  it("begins at a time or an LSN of its parent, which it shows", () => {
    shop.time.pass(60_000);
    const time = later(-30_000);
    expect(made({ parent_id: preview, parent_timestamp: time })).toMatchObject({
      parent_id: preview,
      parent_timestamp: time,
      init_source: "parent-data",
    });
    expect(made({ parent_lsn: "0/1E19478" })).toMatchObject({ parent_id: main, parent_lsn: "0/1E19478" });
  });

  it("a branch is refused two computes that would both write to it, and none that is disabled", () => {
    const create = (...endpoints: object[]) => shop.ana(`POST ${base}`, { endpoints });
    const writer = { type: "read_write" };
    expect(messageOf(create(writer, writer))).toEqual([409, "read_write endpoint already exists"]);
    const refused = [400, 'invalid request body: endpoints.0: Unrecognized key: "disabled"'];
    expect(messageOf(create({ ...writer, disabled: true }))).toEqual(refused);
    const answer = create(writer, { type: "read_only", provisioner: "" });
    const started = { disabled: false, current_state: "init", pending_state: "active" };
    expect([answer.status, answer.body["endpoints"]]).toMatchObject([
      201,
      [
        { type: "read_write", ...started },
        { type: "read_only", provisioner: "k8s-neonvm", ...started },
      ],
    ]);
    expect(answer.body["operations"]).toMatchObject([
      { action: "create_branch" },
      { action: "start_compute" },
      { action: "start_compute" },
    ]);
  });

  it("a new branch has roles and databases of its own, as old as it is, and its parent keeps its", () => {
    const show = (id: string) => [
      shop.ana(`GET ${base}/${id}/roles`).body["roles"],
      shop.ana(`GET ${base}/${id}/databases`).body["databases"],
    ];
    const before = show(main);
    shop.time.pass(60_000);
    const { id, created_at } = made({ name: "younger" });
    const own = { branch_id: id, created_at, updated_at: created_at };
    expect(show(id)).toMatchObject([[{ name: "neondb_owner", ...own }], [{ name: "neondb", ...own }]]);
    expect(show(main)).toEqual(before);
  });

  it("takes an end with any offset from UTC, in whole seconds", () => {
    expect(made({ expires_at: "2026-01-02T05:30:00.999+05:30" })).toMatchObject({
      expires_at: "2026-01-02T00:00:00Z",
      ttl_interval_seconds: 86_400,
    });
  });

  it("takes times with any offset from UTC", () => {
    expect(made({ parent_timestamp: "2026-01-01T05:30:00+05:30" })).toMatchObject({
      parent_timestamp: "2026-01-01T00:00:00.000Z",
    });
  });

  it.each([
    [{ parent_timestamp: "2026-01-01T00:00:01Z" }, 400, "must not lie in the future"],
    [{ parent_timestamp: "2025-12-31T23:59:59Z" }, 422, "before the history of the project"],
    [{ parent_timestamp: "yesterday" }, 400, "must be a time such as"],
    [{ parent_lsn: "somewhere" }, 400, "must be an LSN such as"],
    [{ parent_lsn: "0/1", parent_timestamp: "2026-01-01T00:00:00Z" }, 400, "not at both"],
    [{ expires_at: "2026-01-01T00:00:00Z" }, 400, "must be a time in the future"],
    [{ expires_at: "2026-01-02T00:00:00Z", protected: true }, 422, "a protected branch cannot expire"],
    [{ expires_at: "2026-01-01T00:00:00.9Z" }, 400, "must be a time in the future"],
    [{ expires_at: "2026-01-31T00:00:01Z" }, 400, "must be at most 30 days ahead"],
    [{ name: "preview" }, 409, 'branch already exists; branch_name:"preview"'],
    [{ parent_id: "br-eve" }, 404, "parent branch not found"],
    [{ init_source: "nothing" }, 400, "branch.init_source"],
  ])("a branch with %j is refused", (fields, status, message) => {
    expect(messageOf(shop.ana(`POST ${base}`, { branch: fields }))).toEqual([status, expect.stringContaining(message)]);
  });

  it.each([1, 2])("reaches as far back as the project keeps its history, at %i times the speed", (timeScale) => {
    shop = new Shop({ timeScale });
    shop.ana(`PATCH /projects/${project}`, { project: { history_retention_seconds: 60 * timeScale } });
    shop.time.pass(3_600_000);
    const begin = (ms: number) => shop.ana(`POST ${base}`, { branch: { parent_timestamp: later(-ms) } }).status;
    expect([begin(61_000), begin(59_000)]).toEqual([422, 201]);
  });

  it("takes an end that lies 30 days ahead, also with a fraction of zero", () => {
    const endingAt = (expires_at: string) => branchIn(shop.ana(`POST ${base}`, { branch: { expires_at } }));
    expect(endingAt("2026-01-31T00:00:00Z")).toMatchObject({ expires_at: "2026-01-31T00:00:00Z" });
    shop.finishOperations();
    expect(endingAt("2026-01-30T00:00:00.000Z")).toMatchObject({ expires_at: "2026-01-30T00:00:00Z" });
  });

  it("keeps the annotation of its request, which its own call and lists show and no change touches", () => {
    const note = { "compute-operator.dev/uid": "0b3c", "compute-operator.dev/object": "shop/pr-42" };
    const answer = shop.ana(`POST ${base}`, { branch: { name: "pr-42" }, annotation_value: note });
    const { id } = branchIn(answer);
    shop.finishOperations();
    const renamed = shop.ana(`PATCH ${base}/${id}`, { branch: { name: "renamed" } });
    const { created_at, updated_at } = branchIn(renamed);
    expect(updated_at).not.toBe(created_at);
    const shown = { object: { type: "console/branch", id }, value: note, created_at, updated_at };
    expect(shop.ana(`GET ${base}/${id}`).body["annotation"]).toMatchObject(shown);
    const listed = z.record(z.string(), z.unknown()).parse(shop.ana(`GET ${base}`).body["annotations"]);
    expect(Object.keys(listed)).toEqual([id]);
    expect(listed[id]).toMatchObject(shown);
    const otherPage = shop.ana(`GET ${base}?sort_by=created_at&sort_order=asc&limit=1`).body;
    expect(otherPage["annotations"]).toEqual({});
    expect(shop.ana(`PATCH ${base}/${id}`, { branch: {}, annotation_value: {} }).status).toBe(400);
  });

  it("a branch is listed by when it was made or changed, the newest first or last", () => {
    const ids = ["one", "two", "three"].map((name) => {
      shop.time.pass(60_000);
      return made({ name }).id;
    });
    shop.time.pass(60_000);
    shop.ana(`PATCH ${base}/${ids[0]}`, { branch: { name: "changed" } });
    const listed = (sort: string) => {
      const { branches } = z
        .looseObject({ branches: z.array(z.looseObject({ id: z.string() })) })
        .parse(shop.ana(`GET ${base}?sort_by=${sort}`).body);
      return branches.map(({ id }) => ids.indexOf(id)).filter((index) => index >= 0);
    };
    expect(listed("created_at&sort_order=asc")).toEqual([0, 1, 2]);
    expect(listed("created_at&sort_order=desc")).toEqual([2, 1, 0]);
    expect(listed("updated_at&sort_order=asc")).toEqual([1, 2, 0]);
    expect(listed("updated_at&sort_order=desc")).toEqual([0, 2, 1]);
  });

  it("takes at most 50 values as annotation", () => {
    const values = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, ""]));
    const send = (count: number) => shop.ana(`POST ${base}`, { annotation_value: values(count) });
    expect(messageOf(send(51))).toEqual([400, expect.stringContaining("must be at most 50 values")]);
    expect(send(50).status).toBe(201);
  });

  it("a branch with a name that another request has just taken is refused, and makes nothing", () => {
    const wanted = { branch: { name: "pr-42" }, endpoints: [{ type: "read_write" }] };
    expect(shop.ana(`POST ${base}`, wanted).status).toBe(201);
    const count = () => shop.ana(`GET ${base}/count`).body["count"];
    const before = [count(), shop.list().length];
    expect(messageOf(shop.ana(`POST ${base}`, wanted))).toEqual([409, 'branch already exists; branch_name:"pr-42"']);
    shop.finishOperations();
    expect(messageOf(shop.ana(`POST ${base}`, wanted))).toEqual([409, 'branch already exists; branch_name:"pr-42"']);
    expect([count(), shop.list().length]).toEqual(before);
  });

  it("ends at ten branches of a project on the free plan", () => {
    const create = () => shop.send(keys.bob, "POST /projects/bob-own/branches");
    for (let count = 1; count < 10; count += 1) {
      expect(create().status).toBe(201);
      shop.finishOperations();
    }
    const refused = create();
    expect(refused).toMatchObject({ status: 422, body: { code: "BRANCHES_LIMIT_EXCEEDED" } });
    expect(refused.body["message"]).toContain("has at most 10 branches");
    const { branches } = z
      .object({ branches: z.array(Branch) })
      .parse(shop.send(keys.bob, "GET /projects/bob-own/branches").body);
    shop.send(keys.bob, `DELETE /projects/bob-own/branches/${branches[0]?.id}`);
    expect(create().status).toBe(201);
  });

  it.each([
    ["parent-data", false],
    ["parent-schema", true],
    ["schema-only", true],
  ])("a branch with the init_source %s is made without rows: %s", (init_source, schemaOnly) => {
    const copied = vi.spyOn(shop.core.context.catalog, "copyToNew");
    const { id } = made({ init_source });
    expect(copied.mock.calls).toEqual([[main, id, expect.any(Number), { point: undefined, schemaOnly }]]);
  });

  it("a branch with the schema of its parent alone is a child of it, and of none that ends", () => {
    const parent = made({ name: "parent" });
    const child = made({ init_source: "parent-schema", parent_id: parent.id });
    expect(child).toMatchObject({ init_source: "parent-schema", parent_id: parent.id });
    const ending = made({ expires_at: "2026-01-02T00:00:00Z" });
    const refused = shop.ana(`POST ${base}`, { branch: { init_source: "parent-schema", parent_id: ending.id } });
    expect(refused.status).toBe(422);
  });

  it("a branch with the schema alone is a root branch with the roles and databases of the other one", () => {
    shop.ana(`POST ${base}/${main}/databases`, { database: { name: "shop", owner_name: "neondb_owner" } });
    shop.finishOperations();
    const root = made({ init_source: "schema-only" });
    expect(root).toMatchObject({ init_source: "schema-only" });
    expect(root.parent_id).toBeUndefined();
    expect(shop.ana(`GET ${base}/${root.id}/databases`).body["databases"]).toMatchObject([
      { name: "neondb" },
      { name: "shop" },
    ]);
  });
});

describe("changing a branch", () => {
  it("renames it, unless another branch has the name", () => {
    expect(branchIn(shop.ana(`PATCH ${base}/${preview}`, { branch: { name: "next" } })).name).toBe("next");
    expect(branch(preview).name).toBe("next");
    expect(messageOf(shop.ana(`PATCH ${base}/${preview}`, { branch: { name: "staging" } }))).toEqual([
      409,
      'branch already exists; branch_name:"staging"',
    ]);
  });

  it("changes nothing where all is as it is asked for already, not even the time of its last change", () => {
    const before = branch(preview);
    shop.time.pass(1000);
    const same = { name: before.name, protected: false };
    expect(branchIn(shop.ana(`PATCH ${base}/${preview}`, { branch: same }))).toEqual(before);
    expect(branch(preview)).toEqual(before);
  });

  it("waits for the operations of the project", () => {
    shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
    expect(shop.ana(`DELETE ${base}/${preview}`).status).toBe(423);
    expect(branch(preview).name).toBe("preview");
    shop.finishOperations();
    expect(shop.ana(`DELETE ${base}/${preview}`).status).toBe(200);
  });

  it("deletes it once, and answers 204 where there is none", () => {
    expect(shop.ana(`DELETE ${base}/${preview}`).status).toBe(200);
    expect(shop.ana(`DELETE ${base}/${preview}`).status).toBe(204);
  });

  it.each([
    [main, "the default branch of a project cannot be deleted"],
    [staging, "a branch that has child branches cannot be deleted"],
  ])("never deletes %s: %s", (id, message) => {
    made({ parent_id: staging });
    expect(messageOf(shop.ana(`DELETE ${base}/${id}`))).toEqual([422, message]);
    expect(branch(id).id).toBe(id);
  });

  it("protects it from being deleted", () => {
    shop.ana(`PATCH ${base}/${preview}`, { branch: { protected: true } });
    expect(messageOf(shop.ana(`DELETE ${base}/${preview}`))).toEqual([
      422,
      expect.stringContaining("protected branch"),
    ]);
    shop.ana(`PATCH ${base}/${preview}`, { branch: { protected: false } });
    expect(shop.ana(`DELETE ${base}/${preview}`).status).toBe(200);
  });

  it.each([
    ["the deletion of its compute", `DELETE /projects/${project}/endpoints/${primary}`, undefined],
    ["the deletion of its project", `DELETE /projects/${project}`, undefined],
    ["its restoration", `POST ${base}/${main}/restore`, { source_branch_id: preview, preserve_under_name: "before" }],
  ])("the protection of a branch refuses %s, until it is taken back", (_, line, body) => {
    shop.ana(`PATCH ${base}/${main}`, { branch: { protected: true } });
    expect(branch(main)["restricted_actions"]).toEqual([
      { name: "restore", reason: "branch is protected" },
      { name: "delete-rw-endpoint", reason: "branch is protected" },
    ]);
    expect(messageOf(shop.ana(line, body))).toEqual([
      422,
      expect.stringMatching(/protected branch cannot be \w+: set protected to false first$/),
    ]);
    expect(shop.get(primary).id).toBe(primary);
    shop.ana(`PATCH ${base}/${main}`, { branch: { protected: false } });
    expect(branch(main)).not.toHaveProperty("restricted_actions");
    expect(shop.ana(line, body).status).toBe(200);
  });

  it("makes it the default one, of which there is exactly one", () => {
    const answer = shop.ana(`POST ${base}/${preview}/set_as_default`);
    expect(branchIn(answer)).toMatchObject({ default: true, primary: true });
    expect(branch(main)).toMatchObject({ default: false });
    expect(messageOf(shop.ana(`DELETE ${base}/${preview}`))).toEqual([422, expect.stringContaining("default branch")]);
    const { endpoint } = shop.create({ branch_id: preview, type: "read_write" });
    const uri = shop.ana(`GET /projects/${project}/connection_uri?database_name=neondb&role_name=neondb_owner`);
    expect(uri.body["uri"]).toContain(endpoint.id);
  });
});

it("an expiring branch goes when it is due, with its computes, at that time", () => {
  const answer = shop.ana(`POST ${base}`, {
    branch: { name: "short", expires_at: later(3_600_000) },
    endpoints: [{ type: "read_write" }],
  });
  const { id } = branchIn(answer);
  expect(branchIn(answer)).toMatchObject({ expires_at: inSeconds(3_600_000), ttl_interval_seconds: 3600 });
  shop.time.pass(3_599_999);
  expect(branch(id).name).toBe("short");
  expect(shop.list()).toHaveLength(2);
  shop.time.pass(1);
  expect(shop.ana(`GET ${base}/${id}`).status).toBe(404);
  expect(shop.list().map((endpoint) => endpoint.id)).toEqual([primary]);
  expect(shop.core.nextDue()).toBeUndefined();
});

it("an expiring branch shows in seconds how long it was given, also by a change", () => {
  const { id } = made();
  const changed = shop.ana(`PATCH ${base}/${id}`, { branch: { expires_at: later(90_000) } });
  expect(branchIn(changed)).toMatchObject({ expires_at: inSeconds(90_000), ttl_interval_seconds: 90 });
  shop.time.pass(30_000);
  const renamed = shop.ana(`PATCH ${base}/${id}`, { branch: { name: "later" } });
  expect(branchIn(renamed)).toMatchObject({ expires_at: inSeconds(60_000), ttl_interval_seconds: 90 });
});

it.each([
  ["in ten minutes", "must be a time such as"],
  ["2026-02-01T00:00:00Z", "must be at most 30 days ahead"],
  ["2025-12-31T00:00:00Z", "must be a time in the future"],
])("an expiring branch keeps its end where a change to %s is refused", (expires_at, message) => {
  const { id } = made({ expires_at: "2026-01-02T00:00:00Z" });
  const refused = shop.ana(`PATCH ${base}/${id}`, { branch: { expires_at } });
  expect(messageOf(refused)).toEqual([400, expect.stringContaining(message)]);
  expect(branch(id)["expires_at"]).toBe("2026-01-02T00:00:00Z");
});

it("an expiring branch ends at its time also where the rest of the service runs faster", () => {
  shop = new Shop({ timeScale: 60 });
  const { id } = made({ expires_at: later(60_000) });
  shop.time.pass(56_999);
  expect(branch(id).id).toBe(id);
  shop.time.pass(1);
  expect(shop.ana(`GET ${base}/${id}`).status).toBe(404);
});

it("a branch brings twenty computes at most", () => {
  const bringing = (count: number) => {
    const endpoints = Array.from({ length: count }, () => ({ type: "read_only" }));
    return shop.ana(`POST ${base}`, { branch: {}, endpoints }).status;
  };
  expect([bringing(21), bringing(20)]).toEqual([400, 201]);
});

it("an expiring branch may be given the name that it has together with another end", () => {
  const { id, name } = made({ expires_at: later(60_000) });
  const changed = shop.ana(`PATCH ${base}/${id}`, { branch: { name, expires_at: later(90_000) } });
  expect([changed.status, branchIn(changed)]).toMatchObject([200, { name, expires_at: inSeconds(90_000) }]);
});

it("an expiring branch leaves its name to others when it has ended", () => {
  made({ name: "pr-42", expires_at: later(60_000) });
  shop.time.pass(60_000);
  expect(made({ name: "pr-42" })).toMatchObject({ name: "pr-42" });
});

it("an expiring branch is no parent, but may lend its schema to a root branch", () => {
  const { id } = made({ expires_at: later(60_000) });
  expect(made({ parent_id: id, init_source: "schema-only" })).toMatchObject({ init_source: "schema-only" });
});

it("an expiring branch stays when its expiration is taken away", () => {
  const { id } = made({ expires_at: later(60_000) });
  const changed = shop.ana(`PATCH ${base}/${id}`, { branch: { expires_at: null } });
  expect(branchIn(changed)).not.toHaveProperty("expires_at");
  expect(branchIn(changed)).not.toHaveProperty("ttl_interval_seconds");
  shop.time.pass(120_000);
  expect(branch(id).id).toBe(id);
});

it("an expiring branch is neither the default branch, nor a protected one, nor one with children", () => {
  const expire = (id: string) => messageOf(shop.ana(`PATCH ${base}/${id}`, { branch: { expires_at: later(1000) } }));
  const lonely = shop.ana("PATCH /projects/shop-two/branches/br-two", { branch: { expires_at: later(1000) } });
  expect(messageOf(lonely)).toEqual([422, "the default branch of a project cannot expire"]);
  expect(expire(main)[0]).toBe(422);
  shop.ana(`PATCH ${base}/${preview}`, { branch: { protected: true } });
  expect(expire(preview)).toEqual([422, "a protected branch cannot expire"]);
  const { id } = made({ parent_id: staging });
  expect(expire(staging)).toEqual([422, "a branch that has child branches cannot expire"]);
  shop.ana(`PATCH ${base}/${id}`, { branch: { expires_at: later(60_000) } });
  expect(messageOf(shop.ana(`POST ${base}`, { branch: { parent_id: id } }))).toEqual([
    422,
    "a branch that expires cannot have child branches",
  ]);
  expect(shop.ana(`POST ${base}/${id}/set_as_default`).status).toBe(422);
  expect(shop.ana(`PATCH ${base}/${id}`, { branch: { protected: true } }).status).toBe(422);
});

describe("restoring a branch", () => {
  const restore = (id: string, body: object) => shop.ana(`POST ${base}/${id}/restore`, body);

  it("a restore from the parent gives the branch the parent's roles and databases, and restarts what runs on it", () => {
    shop.ana(`POST ${base}/${main}/databases`, { database: { name: "shop", owner_name: "neondb_owner" } });
    shop.finishOperations();
    const { endpoint } = shop.create({ branch_id: preview, type: "read_write" });
    shop.finishOperations();
    shop.connect(endpoint.id, 600);
    const answer = restore(preview, { source_branch_id: main });
    expect(answer.status).toBe(200);
    expect(branchIn(answer)).toMatchObject({ parent_id: main, last_reset_at: later(0) });
    expect(answer.body["operations"]).toMatchObject([{ action: "apply_config", endpoint_id: endpoint.id }]);
    shop.finishOperations();
    expect(shop.get(endpoint.id).current_state).toBe("active");
    expect(shop.core.context.store.connections.any(endpoint.id)).toBe(false);
    expect(shop.ana(`GET ${base}/${preview}/databases`).body["databases"]).toHaveLength(2);
  });

  it("keeps what it had under a name, and not what it gets", () => {
    const own = { database: { name: "own", owner_name: "neondb_owner" } };
    shop.ana(`POST ${base}/${preview}/databases`, own);
    shop.finishOperations();
    restore(preview, { source_branch_id: main, preserve_under_name: "before" });
    shop.finishOperations();
    const databases = (id: string) => shop.ana(`GET ${base}/${id}/databases`).body["databases"];
    const { branches } = z.object({ branches: z.array(Branch) }).parse(shop.ana(`GET ${base}?search=before`).body);
    expect(databases(branches[0]?.id ?? "")).toMatchObject([{ name: "neondb" }, { name: "own" }]);
    expect(databases(preview)).toMatchObject([{ name: "neondb" }]);
  });

  it("what a branch with an end was is kept without an end, and shows no interval of one", () => {
    shop.ana(`PATCH ${base}/${preview}`, { branch: { expires_at: later(86_400_000) } });
    restore(preview, { source_branch_id: main, preserve_under_name: "before" });
    const { branches } = z.object({ branches: z.array(Branch) }).parse(shop.ana(`GET ${base}?search=before`).body);
    for (const field of ["expires_at", "ttl_interval_seconds"]) expect(branches[0]).not.toHaveProperty(field);
    expect(branch(preview)).toMatchObject({ ttl_interval_seconds: 86_400 });
  });

  it("a restore to a point in its own past keeps what the branch was under a name, with its children", () => {
    const answer = restore(main, { source_branch_id: main, source_timestamp: later(0), preserve_under_name: "before" });
    expect(answer.status).toBe(200);
    shop.finishOperations();
    const backup = branch(String(branchIn(answer).parent_id));
    expect(backup.name).toBe("before");
    expect([preview, staging].map((id) => branch(id).parent_id)).toEqual([backup.id, backup.id]);
    expect(shop.ana(`GET ${base}/${backup.id}/roles`).body["roles"]).toMatchObject([{ name: "neondb_owner" }]);
    expect(branch(main)).toMatchObject({ default: true, parent_timestamp: later(-3000) });
  });

  it.each([
    [preview, { source_branch_id: preview }, 400, "source_timestamp or source_lsn is needed"],
    [preview, { source_branch_id: preview, source_lsn: "0/1" }, 400, "preserve_under_name is needed"],
    [main, { source_branch_id: preview }, 400, "preserve_under_name is needed"],
    [preview, { source_branch_id: "br-eve" }, 404, "source branch not found"],
    [preview, { source_branch_id: main, source_timestamp: "2025-01-01T00:00:00Z" }, 422, "before the history"],
    [preview, { source_branch_id: main, preserve_under_name: "staging" }, 409, "already exists"],
  ])("the restore of %s with %j is refused, and changes nothing", (id, body, status, message) => {
    const before = shop.ana(`GET ${base}`).body;
    expect(messageOf(restore(id, body))).toEqual([status, expect.stringContaining(message)]);
    expect(shop.ana(`GET ${base}`).body).toEqual(before);
  });

  it("gives one that ends its interval again when it is reset to its parent, and not when it gets another's state", () => {
    const { id } = made({ expires_at: later(600_000) });
    shop.time.pass(300_000);
    expect(branchIn(restore(id, { source_branch_id: main }))).toMatchObject({
      expires_at: inSeconds(600_000),
      ttl_interval_seconds: 600,
    });
    shop.time.pass(300_000);
    expect(branchIn(restore(id, { source_branch_id: preview }))).toMatchObject({ expires_at: inSeconds(300_000) });
  });

  it("gives one that ends an end in whole seconds, at which it is gone, also where it is reset between two", () => {
    const { id } = made({ expires_at: later(600_000) });
    shop.time.pass(999);
    const end = Date.parse(String(branchIn(restore(id, { source_branch_id: main }))["expires_at"]));
    shop.time.pass(end - shop.time.now() - 1);
    expect(shop.ana(`GET ${base}/${id}`).status).toBe(200);
    shop.time.pass(1);
    expect(shop.ana(`GET ${base}/${id}`).status).toBe(404);
  });

  it("leaves its roles their passwords, also one that was reset before", () => {
    const role = `${base}/${preview}/roles/neondb_owner`;
    const password = () => shop.ana(`GET ${role}/reveal_password`).body["password"];
    const first = password();
    shop.ana(`POST ${role}/reset_password`);
    const before = password();
    expect(before).not.toBe(first);
    expect(restore(preview, { source_branch_id: main }).status).toBe(200);
    expect(password()).toBe(before);
  });

  it("refuses a source that ends, as no other branch may be its child", () => {
    const { id } = made({ expires_at: later(600_000) });
    expect(messageOf(restore(preview, { source_branch_id: id }))).toEqual([
      422,
      "a branch that expires cannot have child branches",
    ]);
    expect(branch(preview)).not.toHaveProperty("last_reset_at");
  });

  it("gives the child of a protected branch new passwords, and leaves those of other children", () => {
    const path = `${base}/${preview}/roles/neondb_owner/reveal_password`;
    const password = () => shop.ana(`GET ${path}`).body["password"];
    const first = password();
    restore(preview, { source_branch_id: main });
    expect(password()).toBe(first);
    shop.ana(`PATCH ${base}/${main}`, { branch: { protected: true } });
    restore(preview, { source_branch_id: main });
    const second = password();
    restore(preview, { source_branch_id: main });
    expect(new Set([first, second, password()]).size).toBe(3);
    expect(shop.ana(`GET ${base}/${main}/roles/neondb_owner/reveal_password`).body["password"]).not.toBe(first);
  });

  it("shows it as resetting until the operations of its computes have ended, well or not", () => {
    const { endpoint } = shop.create({ branch_id: preview, type: "read_write" });
    shop.finishOperations();
    shop.create({ branch_id: preview, type: "read_only" });
    shop.finishOperations();
    expect(branchIn(restore(preview, { source_branch_id: main }))).toMatchObject({
      current_state: "resetting",
      pending_state: "ready",
    });
    const refused = shop.ana(`POST /projects/${project}/endpoints`, {
      endpoint: { branch_id: preview, type: "read_only" },
    });
    expect(messageOf(refused)).toEqual([422, "branch not ready yet"]);
    shop.finishOperations();
    expect(branch(preview)).toMatchObject({ current_state: "ready" });
    expect(branch(preview)).not.toHaveProperty("pending_state");
    const [failing] = OperationsAnswer.parse(restore(preview, { source_branch_id: main }).body).operations;
    shop.core.change(({ store }) => store.operations.forceFailure(failing?.id ?? "", "made to fail"));
    shop.finishOperations();
    expect(branch(preview)).toMatchObject({ current_state: "ready" });
    expect(shop.get(endpoint.id).pending_state).toBeUndefined();
  });

  it("leaves it ready where none of its computes runs", () => {
    expect(branchIn(restore(preview, { source_branch_id: main }))).toMatchObject({ current_state: "ready" });
  });

  it("keeps id and host of its compute", () => {
    const { endpoint } = shop.create({ branch_id: preview, type: "read_write" });
    shop.finishOperations();
    restore(preview, { source_branch_id: main });
    expect(shop.get(endpoint.id)).toMatchObject({ host: endpoint.host, branch_id: preview });
  });

  it("keeps nothing where the project has no room for another branch", () => {
    const own = "/projects/bob-own/branches";
    for (let count = 1; count < 10; count += 1) {
      shop.send(keys.bob, `POST ${own}`);
      shop.finishOperations();
    }
    const body = { source_branch_id: "br-bob", source_timestamp: later(-1000), preserve_under_name: "before" };
    const answer = shop.send(keys.bob, `POST ${own}/br-bob/restore`, body);
    expect(answer).toMatchObject({ status: 422, body: { code: "BRANCHES_LIMIT_EXCEEDED" } });
  });

  it("waits for the operations of the project", () => {
    shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
    expect(restore(preview, { source_branch_id: main }).status).toBe(423);
  });
});

it("a project counts what the computes of a branch have used until it ended", () => {
  shop.ana(`POST ${base}`, { branch: { expires_at: later(120_000) }, endpoints: [{ type: "read_write" }] });
  shop.time.pass(600_000);
  shop.core.settle();
  const { active_time_seconds } = z
    .object({ active_time_seconds: z.number() })
    .parse(shop.ana(`GET /projects/${project}`).body["project"]);
  expect(active_time_seconds).toBeGreaterThan(115);
  expect(active_time_seconds).toBeLessThanOrEqual(120);
});

it("a branch counts what its computes have used, with those that have gone", () => {
  const { endpoint } = shop.create({ branch_id: preview, type: "read_write", autoscaling_limit_min_cu: 2 });
  shop.finishOperations();
  shop.time.pass(97_000 + 60_000);
  const used = () => z.object({ active_time_seconds: z.number(), cpu_used_sec: z.number() }).parse(branch(preview));
  const before = used();
  expect(before.active_time_seconds).toBeGreaterThan(155);
  expect(before.cpu_used_sec).toBeGreaterThanOrEqual(2 * before.active_time_seconds);
  expect(branch(preview)["compute_time_seconds"]).toBe(before.cpu_used_sec);
  shop.ana(`DELETE /projects/${project}/endpoints/${endpoint.id}`);
  expect(used()).toEqual(before);
  expect(branch(main)).toMatchObject({ active_time_seconds: 0 });
  expect(shop.send(keys.eve, `GET ${base}/${preview}`).status).toBe(404);
});
