import { describe, expect, it } from "vitest";
import { z } from "zod";
import { main, preview, primary, project, Shop, staging } from "../support/shop.ts";

const base = `/projects/${project}`;
const later = (shop: Shop, ms: number) => new Date(shop.time.now() + ms).toISOString();
const Named = z.looseObject({ id: z.string().or(z.number()).optional(), name: z.string().optional() });
type Named = z.infer<typeof Named>;

/** Sends a change that must be accepted. */
function change(shop: Shop, line: string, body?: object): void {
  expect([line, shop.ana(line, body).status]).toEqual([line, line.endsWith("/branches") ? 201 : 200]);
}

/** The states that a project, its branches and its computes may have; each is begun in the shop. */
const states: Readonly<Record<string, (shop: Shop) => unknown>> = {
  "at rest": () => {},
  "with a compute that starts": (shop) => shop.write(`POST ${base}/endpoints/${primary}/start`),
  "with an active compute": (shop) => shop.active(),
  "with clients": (shop) => [shop.active(), shop.connect(primary, 600), shop.time.pass(60_000)],
  "with a compute that suspends": (shop) => [shop.active(), shop.write(`POST ${base}/endpoints/${primary}/suspend`)],
  "with a compute that has used an hour": (shop) => [
    shop.active({ suspend_timeout_seconds: -1 }),
    shop.time.pass(3_600_000),
  ],
  "with a disabled compute": (shop) => [shop.active(), shop.patch(primary, { disabled: true })],
  "with a compute that moves": (shop) => [shop.active(), shop.patch(primary, { branch_id: preview })],
  "with a deleted compute": (shop) => [shop.active(), shop.write(`DELETE ${base}/endpoints/${primary}`)],
  "with an operation that failed": (shop) => {
    const { operations } = shop.write(`POST ${base}/endpoints/${primary}/start`);
    shop.core.change(({ store }) => store.operations.forceFailure(operations[0]?.id ?? "", "the disk is full"));
    shop.finishOperations();
  },
  "with a branch that is made": (shop) =>
    change(shop, `POST ${base}/branches`, {
      branch: {},
      endpoints: [{ type: "read_write" }],
      annotation_value: { a: "b" },
    }),
  "with a branch that is reset": (shop) => [
    shop.active(),
    shop.patch(primary, { branch_id: preview }),
    shop.finishOperations(),
    shop.write(`POST ${base}/endpoints/${primary}/start`),
    shop.finishOperations(),
    change(shop, `POST ${base}/branches/${preview}/restore`, { source_branch_id: staging }),
  ],
  "with a branch that ends": (shop) =>
    change(shop, `PATCH ${base}/branches/${preview}`, { branch: { expires_at: later(shop, 60_000) } }),
  "with a protected branch": (shop) => change(shop, `PATCH ${base}/branches/${main}`, { branch: { protected: true } }),
  "with a deleted branch": (shop) => change(shop, `DELETE ${base}/branches/${preview}`),
  "with another default branch": (shop) => change(shop, `POST ${base}/branches/${preview}/set_as_default`),
  "with another owner": (shop) =>
    expect(shop.send(undefined, `PUT /_admin${base}/owner`, { owner: "acc-ana" }).status).toBe(200),
};

describe.each(Object.entries(states))("a project %s", (_, begin) => {
  const shop = () => {
    const made = new Shop({ branchRecovery: true });
    begin(made);
    return made;
  };

  it.each([
    ["projects", "/projects?limit=400", "/projects/ID", "project"],
    ["branches", `${base}/branches?include_deleted=true`, `${base}/branches/ID`, "branch"],
    ["endpoints", `${base}/endpoints`, `${base}/endpoints/ID`, "endpoint"],
    ["endpoints", `${base}/branches/${main}/endpoints`, `${base}/endpoints/ID`, "endpoint"],
    ["operations", `${base}/operations?limit=1000`, `${base}/operations/ID`, "operation"],
    ["roles", `${base}/branches/${main}/roles`, `${base}/branches/${main}/roles/ID`, "role"],
    ["databases", `${base}/branches/${main}/databases`, `${base}/branches/${main}/databases/ID`, "database"],
  ])("shows the same of %s in the list at %s and in the call of each", (many, list, one, field) => {
    const service = shop();
    const listed = z.array(Named).parse(service.ana(`GET ${list}`).body[many]);
    const isNamed = ["roles", "databases"].includes(many);
    const each = listed.map(({ id, name }) => service.ana(`GET ${one.replace("ID", String(isNamed ? name : id))}`));
    const called = each.map(({ body }) => Named.parse(body[field]));
    // The call of a project says more than the list.
    const shown = (entry: Named, index: number) => ({ ...(many === "projects" && called[index]), ...entry });
    expect(called).toEqual(listed.map(shown));
  });

  it("counts as many branches as it lists, and uses as much as they do", () => {
    const service = shop();
    const Branches = z.array(z.looseObject({ compute_time_seconds: z.number() }));
    const branches = Branches.parse(service.ana(`GET ${base}/branches`).body["branches"]);
    expect(service.ana(`GET ${base}/branches/count`).body["count"]).toBe(branches.length);
    const used = branches.reduce((sum, { compute_time_seconds }) => sum + compute_time_seconds, 0);
    const Used = z.looseObject({ compute_time_seconds: z.number(), cpu_used_sec: z.number() });
    const { compute_time_seconds, cpu_used_sec } = Used.parse(service.ana(`GET ${base}`).body["project"]);
    // Each figure is in whole seconds: together they lack less than one of each branch.
    expect(compute_time_seconds).toBe(cpu_used_sec);
    expect(compute_time_seconds).toBeGreaterThanOrEqual(used);
    expect(compute_time_seconds - used).toBeLessThan(branches.length);
  });
});
