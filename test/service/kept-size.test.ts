import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { refuseLong } from "../../src/service/kept-size.ts";
import { keys, main, primary, project, Shop, staging } from "./support/shop.ts";

let shop: Shop;
beforeEach(() => {
  shop = new Shop({ rateLimits: undefined, projectLock: false });
});

/** Texts by name that have so many characters of JSON together, or a few fewer. */
function kept(characters: number): Record<string, string> {
  const texts = Math.ceil(characters / 4000);
  const each = "x".repeat(Math.floor(characters / texts) - 10);
  return Object.fromEntries(Array.from({ length: texts }, (_, index) => [`n${index}`, each]));
}

const compute = (settings: object) => ({
  endpoint: { branch_id: main, type: "read_only", disabled: true, settings: { pg_settings: {}, ...settings } },
});
const ips = (characters: number) => ({ allowed_ips: { ips: Object.values(kept(characters)) } });
const computes = `/projects/${project}/endpoints`;
const branches = `/projects/${project}/branches`;

/** Each way to keep something of a client's choice with an object. */
const ways: Readonly<Record<string, (characters: number) => [line: string, body: object]>> = {
  "settings of the pooler with a new compute": (characters) => [
    `POST ${computes}`,
    compute({ pgbouncer_settings: kept(characters) }),
  ],
  "settings of Postgres with a new compute": (characters) => [
    `POST ${computes}`,
    compute({ pg_settings: kept(characters) }),
  ],
  "settings with a compute": (characters) => [
    `PATCH ${computes}/${primary}`,
    { endpoint: { settings: { pg_settings: kept(characters) } } },
  ],
  "settings with a compute of a new branch": (characters) => [
    `POST ${branches}`,
    { endpoints: [{ type: "read_only", settings: { pg_settings: kept(characters) } }] },
  ],
  "an annotation with a new branch": (characters) => [`POST ${branches}`, { annotation_value: kept(characters) }],
  "an annotation with the first branch of a new project": (characters) => [
    "POST /projects",
    { project: { branch: { annotations: kept(characters) } } },
  ],
  "settings with a new project": (characters) => ["POST /projects", { project: { settings: ips(characters) } }],
  "settings with a project": (characters) => [`PATCH /projects/${project}`, { project: { settings: ips(characters) } }],
  "settings for new computes with a new project": (characters) => [
    "POST /projects",
    { project: { default_endpoint_settings: { pgbouncer_settings: kept(characters) } } },
  ],
  "settings for new computes with a project": (characters) => [
    `PATCH /projects/${project}`,
    { project: { default_endpoint_settings: { pg_settings: kept(characters) } } },
  ],
};

it.each(Object.entries(ways))("a client keeps %s up to 16,384 characters and no more", (_, request) => {
  expect(shop.ana(...request(16_000)).status).toBeLessThan(300);
  shop.finishOperations();
  const refused = shop.ana(...request(17_000));
  expect([refused.status, refused.body["message"]]).toEqual([
    400,
    expect.stringMatching(/at most 16384 are possible$/),
  ]);
});

it.each([
  ["settings", ips(9000), { preload_libraries: { enabled_libraries: Object.values(kept(9000)) } }],
  ["default_endpoint_settings", { pg_settings: kept(9000) }, { pgbouncer_settings: kept(9000) }],
])("the %s that a project keeps end at 16,384 characters, also where they come in parts", (field, first, second) => {
  const change = (part: object) => shop.ana(`PATCH /projects/${project}`, { project: { [field]: part } });
  const answers = [change(first), change(second)];
  expect(answers.map(({ status, body }) => [status, body["message"]])).toEqual([
    [200, undefined],
    [400, expect.stringMatching(/at most 16384 are possible$/)],
  ]);
});

describe("what is kept with all objects of a list", () => {
  it.each([
    ["computes", ways["settings of the pooler with a new compute"], `POST ${computes}`, compute({})],
    ["branches", ways["an annotation with a new branch"], `POST ${branches}`, {}],
  ])("ends at 4,000,000 characters for the %s of a project, and others are made without", (_, request, line, plain) => {
    const statuses = Array.from({ length: 255 }, () => shop.ana(...(request?.(16_300) ?? ["", {}])).status);
    expect(new Set(statuses)).toEqual(new Set([201, 422]));
    expect(statuses.indexOf(422)).toBeGreaterThan(240);
    expect(shop.ana(line, plain).status).toBe(201);
    const [patch, settings] = ways["settings with a compute"]?.(16_300) ?? ["", {}];
    expect(shop.ana(patch, settings).status).toBe(line.endsWith(computes) ? 422 : 200);
    const { body } = shop.ana(`GET ${line.slice(5)}`);
    expect(JSON.stringify(body).length).toBeLessThan(8_000_000);
  });

  it("ends at 4,000,000 characters for the projects of an owner, and others are made without", () => {
    const [line, body] = ways["settings with a new project"]?.(16_300) ?? ["", {}];
    const statuses = Array.from({ length: 255 }, () => shop.ana(line, body).status);
    expect(new Set(statuses)).toEqual(new Set([201, 422]));
    expect(statuses.indexOf(422)).toBeGreaterThan(240);
    expect([shop.ana(line, { project: {} }).status, shop.send(keys.eve, line, body).status]).toEqual([201, 201]);
    const [patch, settings] = ways["settings with a project"]?.(16_300) ?? ["", {}];
    expect(shop.ana(patch.replace(project, "ana-own"), settings).status).toBe(422);
    expect(shop.ana(patch, settings).status).toBe(200);
  });

  it("counts for what a restore keeps of a branch under another name", () => {
    const [line, body] = ways["an annotation with a new branch"]?.(16_300) ?? ["", {}];
    for (let made = 0; made < 255; made += 1) shop.ana(line, body);
    shop.finishOperations().core.settle();
    const list = z.object({ branches: z.array(z.object({ id: z.string() })) });
    const noted = list
      .parse(shop.ana(`GET ${branches}?sort_by=created_at&sort_order=asc&limit=5`).body)
      .branches.at(-1)?.id;
    const restore = (id = "") =>
      shop.ana(`POST ${branches}/${id}/restore`, { source_branch_id: main, preserve_under_name: `kept-${id}` }).status;
    expect([restore(noted), restore(staging)]).toEqual([422, 200]);
  });

  it("counts for projects that come by a transfer, unless they keep little", () => {
    const [line, body] = ways["settings with a project"]?.(16_000) ?? ["", {}];
    shop.applySeed({ projects: [{ id: "ana-little", owner: "acc-ana", branches: [{ id: "br-little" }] }] });
    shop.ana(line.replace(project, "ana-own"), body);
    const long = "json_set(details, '$.settings', json_object('long', printf('%.*c', 3990000, 'x')))";
    shop.database.run(`UPDATE projects SET details = ${long} WHERE id = 'shop-two'`);
    const transfer = (id: string) =>
      shop.ana("POST /users/me/projects/transfer", { destination_org_id: "org-shop", project_ids: [id] });
    expect(transfer("ana-own")).toMatchObject({
      status: 406,
      body: { message: expect.stringMatching(/^the projects cannot go to org-shop: settings: all .* at most 4000000/) },
    });
    expect(transfer("ana-little").status).toBe(200);
  });

  it("counts for the computes of a deleted branch until nobody can recover it", () => {
    shop = new Shop({ rateLimits: undefined, projectLock: false, branchRecovery: true });
    const made = shop.ana(`POST ${branches}`, { endpoints: [{ type: "read_write" }] });
    const { id } = z.object({ branch: z.object({ id: z.string() }) }).parse(made.body).branch;
    shop.finishOperations();
    const long = "json_object('pg_settings', json_object('long', printf('%.*c', 3990000, 'x')))";
    shop.database.run(`UPDATE endpoints SET settings = ${long} WHERE branch_id = ?`, id);
    expect(shop.ana(`DELETE ${branches}/${id}`).status).toBe(200);
    const request = ways["settings with a compute"]?.(16_000) ?? ["", {}];
    expect(shop.ana(...request).status).toBe(422);
    expect(shop.ana(`DELETE ${branches}/${id}?hard_delete=true`).status).toBe(204);
    expect(shop.ana(...request).status).toBe(200);
  });

  it("counts for a change too, and lets a compute shrink its own", () => {
    for (let made = 0; made < 255; made += 1)
      shop.ana(`POST ${computes}`, compute({ pgbouncer_settings: kept(16_300) }));
    const patch = (characters: number) =>
      shop.ana(`PATCH ${computes}/${primary}`, { endpoint: { settings: { pg_settings: kept(characters) } } }).status;
    expect([patch(16_000), patch(200)]).toEqual([422, 200]);
  });
});

it("what is kept is read as it is, without a look at each name: a list has 400,000 of them", () => {
  const long = { ["n".repeat(200)]: "x".repeat(5000) };
  const settings = { pg_settings: long, pgbouncer_settings: long };
  shop.database.run("UPDATE endpoints SET settings = ? WHERE id = ?", JSON.stringify(settings), primary);
  const defaults = JSON.stringify({ default_endpoint_settings: { pgbouncer_settings: long } });
  shop.database.run("UPDATE projects SET details = json_patch(details, ?) WHERE id = ?", defaults, project);
  expect(shop.get(primary)).toMatchObject({ settings });
  expect(shop.ana(`GET /projects/${project}`).body["project"]).toMatchObject(JSON.parse(defaults));
});

it("what is kept with an object counts beside that of the others, unless it is so little that it is not summed up", () => {
  const refuse = (length: number, others: number) => () => refuseLong("settings", "x".repeat(length), () => others);
  expect(refuse(1000, 3_998_000)).not.toThrow();
  expect(refuse(1000, 3_999_500)).toThrow("settings: all of them in one list have at most 4000000 characters of JSON");
  expect(refuse(100, 5_000_000)).not.toThrow();
  expect(refuse(16_382, 0)).not.toThrow();
  expect(refuse(16_383, 0)).toThrow("settings: 16385 characters of JSON are too many, at most 16384 are possible");
});
