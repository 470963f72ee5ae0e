import { describe, expect, test } from "vitest";
import { z } from "zod";
import { BranchesAnswer } from "../../src/api/branch.ts";
import { derivedBranchUID } from "../../src/cli/manifests/derived-uid.ts";
import { noteKeys } from "../../src/operator/resources/names.ts";
import { fleetOf, signatureOf } from "../../src/operator/resources/signature.ts";
import { keys, main, project, staging } from "../service/support/shop.ts";
import { Stage } from "./command-stage.ts";
import { baseURL, compute, connection, documents } from "./texts.ts";

const branch = (name: string, spec = "expiry: {after: 72h}") => `apiVersion: compute-operator.dev/v1alpha1
kind: Branch
metadata: {name: ${name}, namespace: shop}
spec: {projectID: ${project}, branchName: preview/${name}, ${spec}}
`;
const never = "expiry: {never: true}";
const withCompute = "expiry: {after: 72h}, compute: {computeUnits: {min: 0.25, max: 1}}";
const naming = (name: string, of: string) =>
  compute(name, "type: read_only").replace(/branchID: [^,}]+/, `branchRef: {name: ${of}}`);

const child = (name: string, of: string) => branch(name, `parent: {branchName: ${of}}, expiry: {never: true}`);
const over = "expiry: {at: '2020-01-01T00:00:00Z'}";
const paused = ', annotations: {compute-operator.dev/paused: "true"}';

const inFleet = ["--fleet", "prod", "--namespace", "shop"];
const apply = (stage: Stage, text: string, ...flags: string[]) =>
  stage.run("apply", ["-f", stage.file("a.yaml", text), "--yes", ...inFleet, ...flags]);
const plan = (stage: Stage, text: string, ...flags: string[]) =>
  stage.run("plan", ["-f", stage.file("a.yaml", text), ...inFleet, ...flags]);

const branches = (stage: Stage) => BranchesAnswer.parse(stage.shop.ana(`GET /projects/${project}/branches`).body);
const named = (stage: Stage, name: string) => branches(stage).branches.find((each) => each.name === name);
const idOf = (stage: Stage, name: string) => named(stage, name)?.id ?? "";

/** A branch that stands at the service, with a note. */
function standing(stage: Stage, name: string, note?: Record<string, string>): string {
  const body = { branch: { name }, ...(note === undefined ? {} : { annotation_value: note }) };
  const answer = stage.shop.ana(`POST /projects/${project}/branches`, body);
  stage.shop.finishOperations();
  return z.object({ branch: z.object({ id: z.string() }) }).parse(answer.body).branch.id;
}

const noteOf = (name: string, uid: string, fleet = "prod", namespace = "shop") => ({
  [noteKeys.uid]: uid,
  [noteKeys.fleet]: fleet,
  [noteKeys.object]: `${namespace}/${name}`,
});
const operators = "0f6c1d1e-8d5b-4c57-9a3e-000000000001";

describe("plan and apply of a Branch", () => {
  test("plan shows the branch and its compute as creations, and sends nothing", async () => {
    using stage = new Stage();
    const run = await plan(stage, documents(connection, branch("pr-1", withCompute)));
    expect(run).toMatchObject({ status: 2, err: "" });
    expect(run.out).toContain(
      `+ Branch shop/pr-1  create   branch preview/pr-1 of project ${project}: expiry after 72h`,
    );
    expect(run.out).toContain(`+ shop/pr-1         create   read_write on branch pr-1 of project ${project}`);
    expect(run.out).toContain("Plan: 2 to create.");
    expect(stage.writes).toEqual([]);
  });

  test("apply sends one POST for the branch with end and note, and one for its compute", async () => {
    using stage = new Stage();
    const text = documents(connection, branch("pr-1", withCompute));
    expect(await apply(stage, text)).toMatchObject({ status: 0, err: "" });
    const id = idOf(stage, "preview/pr-1");
    expect(stage.writes).toHaveLength(2);
    const expires = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(stage.writes[0]).toMatchObject({
      line: `POST /projects/${project}/branches`,
      body: {
        branch: { name: "preview/pr-1", expires_at: expires },
        annotation_value: noteOf("pr-1", derivedBranchUID("prod", "shop", "pr-1")),
      },
    });
    expect(stage.writes[1]).toMatchObject({
      line: `POST /projects/${project}/endpoints`,
      body: { endpoint: { branch_id: id, type: "read_write" } },
    });
    expect(await apply(stage, text)).toMatchObject({ status: 0, out: expect.stringContaining("Plan: 2 unchanged.") });
    expect(stage.writes).toHaveLength(2);
  });

  test("a second apply after an interruption waits for the branch and creates its compute, as plan shows", async () => {
    using stage = new Stage();
    const text = documents(connection, branch("pr-1", withCompute));
    await stage.interrupted(stage.file("a.yaml", text), ...inFleet);
    const lines = [/… Branch shop\/pr-1 +wait +Creating/, /\+ shop\/pr-1 +create .*computeUnits\.max 1/];
    const planned = await plan(stage, text);
    expect(planned.status).toBe(2);
    for (const line of lines) expect(planned.out).toMatch(line);
    expect(await apply(stage, text)).toMatchObject({ status: 0, out: expect.stringContaining("2 as declared.") });
    expect(stage.writes.map(({ line }) => line)).toEqual([
      `POST /projects/${project}/branches`,
      `POST /projects/${project}/endpoints`,
    ]);
  });

  test("an apply after an interruption waits for a Branch without a compute too", async () => {
    using stage = new Stage();
    const text = documents(connection, branch("pr-1"));
    await stage.interrupted(stage.file("a.yaml", text), ...inFleet);
    expect(await apply(stage, text)).toMatchObject({
      status: 0,
      out: expect.stringContaining("  Branch shop/pr-1: Av"),
    });
  });

  test("a compute of a Branch that is paused before it has a branch waits, and apply does not wait for it", async () => {
    using stage = new Stage();
    const text = documents(connection, branch("pr-1", withCompute).replace("shop}", `shop${paused}}`));
    for (const command of [plan, apply]) {
      const run = await command(stage, text);
      expect(run).toMatchObject({ status: 0, out: expect.stringMatching(/… shop\/pr-1 +wait +BranchNotReady/) });
      expect(run.out).not.toContain("Applied");
    }
  });

  test("a Compute that names the Branch waits for it, and comes to its branch", async () => {
    using stage = new Stage();
    const text = documents(connection, naming("reader", "pr-1"), branch("pr-1", "expiry: {after: 72h}"));
    expect(await apply(stage, text)).toMatchObject({ status: 0 });
    expect(stage.shop.list().map(({ branch_id }) => branch_id)).toContain(idOf(stage, "preview/pr-1"));
  });

  test("a Compute does not wait for a Branch that failed", async () => {
    using stage = new Stage();
    const refusal = { status: 422, body: { code: "", message: "no more branches", request_id: "" }, json: true };
    stage.rewrite = ({ method }, response) => (method === "POST" ? refusal : response);
    const started = stage.time.now();
    const run = await apply(stage, documents(connection, naming("reader", "pr-1"), branch("pr-1")));
    expect(run.status).toBe(1);
    expect(run.out).toMatch(/^! Branch shop\/pr-1: Rejected: .* Change the spec\.$/m);
    expect(run.out).toMatch(/! shop\/reader: BranchNotReady/);
    expect(stage.writes).toHaveLength(1);
    expect(stage.time.now() - started).toBeLessThan(60_000);
  });

  test("a lost answer to the create makes no second branch", async () => {
    using stage = new Stage();
    let lost = 0;
    stage.fate = ({ method, path }) =>
      method === "POST" && path.endsWith("/branches") && lost++ === 0 ? "lost after" : "answered";
    expect(await apply(stage, documents(connection, branch("pr-1")))).toMatchObject({ status: 0 });
    expect(branches(stage).branches.filter(({ name }) => name === "preview/pr-1")).toHaveLength(1);
  });

  test("a branch whose parent is a Branch of the same manifests is created after it", async () => {
    using stage = new Stage();
    const text = documents(connection, child("a-child", "preview/pr-1"), branch("pr-1", "expiry: {never: true}"));
    expect(await apply(stage, text)).toMatchObject({ status: 0 });
    expect(named(stage, "preview/a-child")?.parent_id).toBe(idOf(stage, "preview/pr-1"));
  });

  test("a child of a child is created last, and a Compute on it is shown as a creation", async () => {
    using stage = new Stage();
    const [first, second] = [child("a", "preview/b"), child("b", "preview/pr-1")];
    const root = branch("pr-1", "expiry: {never: true}");
    const text = documents(connection, first, second, root, naming("reader", "a"));
    expect((await plan(stage, text)).out).toMatch(/\+ shop\/reader +create /);
    expect(await apply(stage, text)).toMatchObject({ status: 0 });
    expect(named(stage, "preview/a")?.parent_id).toBe(idOf(stage, "preview/b"));
  });

  test.each<[string, string, string]>([
    ["that nothing has", child("a", "nowhere"), "nowhere"],
    ["of its own", child("a", "preview/a"), "preview/a"],
    ["of a Branch that waits for it", documents(child("a", "preview/b"), child("b", "preview/a")), "preview/b"],
    [
      "of a paused Branch",
      documents(child("a", "preview/b"), branch("b").replace("shop}", `shop${paused}}`)),
      "preview/b",
    ],
    ["of a Branch whose end is over", documents(child("a", "preview/b"), branch("b", over)), "preview/b"],
    [
      "of a Branch whose parent is missing",
      documents(child("a", "preview/b"), branch("b", "expiry: {never: true}, parent: {branchID: br-none-1}")),
      "preview/b",
    ],
  ])("a Branch with a parent %s is refused by plan and apply, alone and beside a change", async (_, text, parent) => {
    using stage = new Stage();
    const started = stage.time.now();
    const said = `BranchNotFound: Project ${project} has no branch "${parent}", from which this one is to start. Create it, or make another object with another parent.`;
    for (const command of [plan, apply]) {
      const run = await command(stage, documents(connection, text));
      expect(run).toMatchObject({ status: 1, out: expect.stringMatching(/! Branch shop\/a +refuse /) });
      expect(run.out).toContain(`${said}\n`);
    }
    expect(stage.writes).toEqual([]);
    const run = await apply(stage, documents(connection, text, compute("reader", "type: read_only", main)));
    expect(run).toMatchObject({ status: 1, out: expect.stringContaining("  shop/reader: Active: ") });
    expect(run.out).toContain("! Branch shop/a: BranchNotFound: ");
    expect(stage.time.now() - started).toBeLessThan(60_000);
  });

  test.each([
    ["whose end is over", branch("pr-1", over), 2],
    ["that is paused before it has a branch", branch("pr-1", withCompute).replace("shop}", `shop${paused}}`), 3],
  ])("a Branch %s is no problem beside a change", async (_, text, done) => {
    using stage = new Stage();
    const beside = documents(connection, text, compute("reader", "type: read_only", main));
    expect((await plan(stage, beside)).status).toBe(2);
    const run = await apply(stage, beside);
    expect(run).toMatchObject({ status: 0, out: expect.stringContaining(`Applied: ${done} as declared.`) });
    expect(stage.writes).toHaveLength(1);
  });

  test.each([
    ["sooner than declared", 1, /~ Branch shop\/pr-1 {2}patch/],
    ["later than declared", 20, /= Branch shop\/pr-1 {2}as is .*later than declared, and that end is kept/],
  ])("an end %s at the service is brought to the later one", async (_, days, line) => {
    using stage = new Stage();
    const text = documents(connection, branch("pr-1", "expiry: {after: 240h}"));
    await apply(stage, text);
    const path = `PATCH /projects/${project}/branches/${idOf(stage, "preview/pr-1")}`;
    const end = `${new Date(stage.time.now() + days * 86_400_000).toISOString().slice(0, 19)}Z`;
    stage.shop.ana(path, { branch: { expires_at: end } });
    const run = await apply(stage, text);
    expect(run).toMatchObject({ status: 0, out: expect.stringMatching(line) });
    const least = stage.time.now() + 9.9 * 86_400_000;
    expect(Date.parse(named(stage, "preview/pr-1")?.expires_at ?? "")).toBeGreaterThan(least);
    expect((await plan(stage, text)).status).toBe(0);
  });

  test("a lease is renewed by an apply once half of it is over, and not before", async () => {
    using stage = new Stage();
    const text = documents(connection, branch("pr-1", "expiry: {lease: 24h}"));
    await apply(stage, text);
    const first = named(stage, "preview/pr-1")?.expires_at;
    stage.time.pass(11 * 3_600_000);
    await apply(stage, text);
    expect(named(stage, "preview/pr-1")?.expires_at).toBe(first);
    stage.time.pass(5 * 3_600_000);
    expect((await apply(stage, text)).status).toBe(0);
    expect(named(stage, "preview/pr-1")?.expires_at).not.toBe(first);
  });

  test("json names Branches in a member of their own, and markdown in rows", async () => {
    using stage = new Stage();
    const text = documents(connection, branch("pr-1"));
    const { out } = await plan(stage, text, "--output", "json");
    const { branches: entries, summary } = JSON.parse(out);
    expect(entries).toEqual([
      {
        object: "shop/pr-1",
        project,
        name: "preview/pr-1",
        step: "create",
        fields: [{ field: "expiry", ours: "after 72h" }],
      },
    ]);
    expect(summary).toMatchObject({ create: 1, changes: true, problems: false });
    const markdown = await plan(stage, text, "--output", "markdown");
    expect(markdown.out).toContain("| Branch `shop/pr-1` | create | branch `preview/pr-1` of project");
  });

  test("an adopted branch is left as it is", async () => {
    using stage = new Stage();
    const text = documents(connection, branch("pr-1", `expiry: {never: true}, adopt: {branchID: ${staging}}`));
    const run = await apply(stage, text);
    expect(run).toMatchObject({ status: 0, out: expect.stringContaining(`adopts ${staging}`) });
    expect(stage.writes).toEqual([]);
  });

  test("what a fleet's operator made is shown as kept by it, and apply sends nothing for it", async () => {
    using stage = new Stage();
    const id = standing(stage, "preview/pr-1", noteOf("pr-1", operators));
    const run = await apply(stage, documents(connection, branch("pr-1", "expiry: {never: true}")));
    expect(run).toMatchObject({ status: 0, out: expect.stringContaining("kept by the operator of fleet prod") });
    const changed = await apply(stage, documents(connection, branch("pr-1", "expiry: {after: 72h}")));
    expect(changed.out).toContain("Plan: 1 unchanged");
    const sooner = `PATCH /projects/${project}/branches/${id}`;
    const end = `${new Date(stage.time.now() + 3_600_000).toISOString().slice(0, 19)}Z`;
    stage.shop.ana(sooner, { branch: { expires_at: end } });
    const refused = await apply(stage, documents(connection, branch("pr-1", "expiry: {never: true}")));
    expect(refused).toMatchObject({ status: 1, out: expect.stringContaining("This Branch is in a cluster") });
    expect(stage.writes).toEqual([]);
  });

  test("two fleets do not take each other's branch of one name for their own", async () => {
    using stage = new Stage();
    const text = documents(connection, branch("pr-1"));
    await apply(stage, text);
    const path = stage.file("a.yaml", text);
    const other = await stage.run("apply", ["-f", path, "--yes", "--fleet", "other", "--namespace", "shop"]);
    expect(other).toMatchObject({ status: 1, out: expect.stringContaining("BranchExists") });
    expect(stage.writes).toHaveLength(1);
  });

  test("a branch that was made without a fleet is still its own with one", async () => {
    using stage = new Stage();
    const path = stage.file("a.yaml", documents(connection, branch("pr-1")));
    await stage.run("apply", ["-f", path, "--yes"]);
    const run = await stage.run("apply", ["-f", path, "--yes", ...inFleet]);
    expect(run).toMatchObject({ status: 0, out: expect.stringContaining("Plan: 1 unchanged.") });
  });

  test("a key that may not list branches is an error with its cause", async () => {
    using stage = new Stage();
    stage.rewrite = ({ path }, response) =>
      path.endsWith("/branches")
        ? { status: 403, body: { code: "", message: "not permitted", request_id: "" }, json: true }
        : response;
    const run = await plan(stage, documents(connection, branch("pr-1")));
    expect(run).toMatchObject({ status: 1, out: expect.stringMatching(/! Branch shop\/pr-1 +error +Forbidden/) });
  });
});

test.each([
  [429, "RateLimited: The service allows no more requests for now (later)."],
  [503, `ServiceUnavailable: The service is not available: later. Check that the service is at ${baseURL} (`],
])(
  "a refused list of branches (%s) says the same for a Branch and a Compute, and promises nothing",
  async (status, said) => {
    using stage = new Stage();
    const body = { code: "", message: "later", request_id: "" };
    stage.rewrite = ({ path }, response) => (path.includes("/projects/") ? { status, body, json: true } : response);
    const run = await plan(stage, documents(connection, branch("pr-1"), compute("a")));
    expect(run.status).toBe(1);
    const lines = run.out.split("\n").filter((line) => line.startsWith("! "));
    expect(lines).toEqual([expect.stringContaining(said), expect.stringContaining(said)]);
    expect(run.out).not.toContain("etried automatically");
  },
);

describe("apply --prune-branches", () => {
  const reader = compute("reader", "type: read_only", main);
  const deletes = (stage: Stage) => stage.writes.flatMap(({ line }) => (line.startsWith("DELETE") ? [line] : []));

  test("deletes the branch of a removed manifest with its compute, by one DELETE", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, reader, branch("pr-1", withCompute), branch("pr-2", withCompute)));
    const id = idOf(stage, "preview/pr-2");
    const text = documents(connection, reader, branch("pr-1", withCompute));
    const shown = await plan(stage, text, "--prune", "--prune-branches");
    expect(shown).toMatchObject({ status: 2, out: expect.stringContaining("1 to delete, 3 unchanged") });
    const run = await apply(stage, text, "--prune", "--prune-branches");
    expect(run).toMatchObject({ status: 0, err: "" });
    expect(run.out).toContain(
      `- Branch shop/pr-2  delete   ${id}: apply created it for Branch shop/pr-2, which is not declared any more; its data and computes are deleted.`,
    );
    expect(deletes(stage)).toEqual([`DELETE /projects/${project}/branches/${id}`]);
    expect(named(stage, "preview/pr-2")).toBeUndefined();
    expect(named(stage, "preview/pr-1")).toBeDefined();
  });

  test("--prune alone keeps the branch and names it", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, reader, branch("pr-1"), branch("pr-2")));
    const run = await apply(stage, documents(connection, reader, branch("pr-1")), "--prune");
    expect(run).toMatchObject({ status: 0, out: expect.stringContaining("apply keeps it without --prune-branches") });
    expect(deletes(stage)).toEqual([]);
    expect(named(stage, "preview/pr-2")).toBeDefined();
  });

  test("--prune-branches without --prune is refused", async () => {
    using stage = new Stage();
    const text = documents(connection, branch("pr-1"));
    for (const command of [apply, plan]) {
      expect(await command(stage, text, "--prune-branches")).toMatchObject({
        status: 1,
        err: expect.stringContaining("--prune-branches needs --prune"),
      });
    }
  });

  test.each([
    ["an operator made", noteOf("pr-9", operators)],
    ["apply made for another fleet", noteOf("pr-9", derivedBranchUID("other", "shop", "pr-9"), "other")],
    ["apply made for another namespace", noteOf("pr-9", derivedBranchUID("prod", "eu", "pr-9"), "prod", "eu")],
    ["bears the name of a uid that is another's", noteOf("pr-9", derivedBranchUID("prod", "shop", "pr-8"))],
    ["nobody left a note on", undefined],
  ])("keeps a branch that %s", async (_, note) => {
    using stage = new Stage();
    standing(stage, "preview/pr-9", note);
    const run = await apply(stage, documents(connection, reader), "--prune", "--prune-branches", "--max-deletes", "9");
    expect(run.status).toBe(0);
    expect(deletes(stage)).toEqual([]);
  });

  test.each([
    ["more than half", 1, 2, "2 of 3 branches of namespace shop would be deleted"],
    ["more than five", 8, 6, "6 of 14 branches of namespace shop would be deleted"],
  ])("stops at %s of the branches, until --max-deletes allows it", async (_, kept, gone, message) => {
    using stage = new Stage();
    const some = (count: number, from: string) => Array.from({ length: count }, (__, nth) => branch(`${from}-${nth}`));
    await apply(stage, documents(connection, reader, ...some(kept, "kept"), ...some(gone, "gone")));
    const text = documents(connection, reader, ...some(kept, "kept"));
    const run = await apply(stage, text, "--prune", "--prune-branches");
    expect(run).toMatchObject({ status: 1, err: expect.stringContaining(message) });
    expect(run.err).toContain(`set --max-deletes ${gone}`);
    expect(deletes(stage)).toEqual([]);
    const all = await apply(stage, text, "--prune", "--prune-branches", "--max-deletes", String(gone));
    expect(all.status).toBe(0);
    expect(deletes(stage)).toHaveLength(gone);
  });

  test("counts an adopted branch for none of the half that may go", async () => {
    using stage = new Stage();
    const adopted = branch("base", "expiry: {never: true}, adopt: {branchID: br-staging-1}");
    await apply(stage, documents(connection, reader, adopted, branch("pr-1")));
    const run = await apply(stage, documents(connection, reader, adopted), "--prune", "--prune-branches");
    expect(run).toMatchObject({ status: 1, err: expect.stringContaining("1 of 1 branches of namespace shop") });
    expect(deletes(stage)).toEqual([]);
  });

  test("keeps a branch on which an operator keeps a compute", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, reader, branch("pr-1")));
    const branch_id = idOf(stage, "preview/pr-1");
    const metadata = { namespace: "shop", name: "other", uid: operators, resourceVersion: "" };
    stage.shop.create({ branch_id, type: "read_only", name: signatureOf({ metadata }, fleetOf("elsewhere")) });
    stage.shop.finishOperations();
    const flags = ["--prune", "--prune-branches", "--max-deletes", "5"];
    const run = await apply(stage, documents(connection, reader), ...flags);
    expect(run).toMatchObject({ status: 1, out: expect.stringContaining("An operator keeps computes (") });
    expect(deletes(stage)).toEqual([]);
  });

  test("keeps a branch that a Compute of the manifests is on, and one with children", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, reader, branch("pr-1", never), branch("pr-2", never)));
    const parent_id = idOf(stage, "preview/pr-2");
    stage.shop.ana(`POST /projects/${project}/branches`, { branch: { name: "child", parent_id } });
    stage.shop.finishOperations();
    const on = compute("on-it", "type: read_only", idOf(stage, "preview/pr-1"));
    const flags = ["--prune", "--prune-branches", "--max-deletes", "5"];
    const run = await apply(stage, documents(connection, reader, on), ...flags);
    expect(run.status).toBe(1);
    expect(run.out).toMatch(/! Branch shop\/pr-1 +refuse +InUse: .*on-it/);
    expect(run.out).toMatch(/! Branch shop\/pr-2 +refuse +HasChildren: .*child/);
    expect(deletes(stage)).toEqual([]);
  });

  test.each([
    ["by its id", "adopt: {branchID: ID}"],
    ["by its name", "branchName: preview/pr-1, adopt: {byName: true}"],
    ["as the branch of a former one", "branchName: preview/pr-1, adopt: {former: true}"],
  ])("keeps a branch that a Branch of the manifests adopts %s", async (_, spec) => {
    using stage = new Stage();
    await apply(stage, documents(connection, reader, branch("pr-1", never)));
    const adopting = branch("base", `${never}, ${spec.replace("ID}", `${idOf(stage, "preview/pr-1")}}`)}`);
    const text = documents(connection, reader, adopting.replace("branchName: preview/base, ", ""));
    const run = await apply(stage, text, "--prune", "--prune-branches", "--max-deletes", "9");
    expect(run.out).not.toMatch(/^. Branch shop\/pr-1 /m);
    expect(deletes(stage)).toEqual([]);
  });

  test("deletes a branch whose name a Branch of another project adopts", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, reader, branch("pr-1", never)));
    const elsewhere = branch("base", `${never}, adopt: {byName: true}`).replace(project, "shop-two");
    const text = documents(connection, reader, elsewhere.replace("preview/base", "preview/pr-1"));
    await apply(stage, text, "--prune", "--prune-branches", "--max-deletes", "9");
    expect(deletes(stage)).toHaveLength(1);
  });

  test("deletes a branch once, though two connections reach its project", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, reader, branch("pr-1", never)));
    const [, second = ""] = connection.replace("name: default", "name: second").split("---\n");
    const through = compute("other", "type: read_only, connectionRef: {name: second}", main);
    const text = documents(connection, second, reader, through);
    const run = await apply(stage, text, "--prune", "--prune-branches", "--max-deletes", "1");
    expect(run).toMatchObject({
      status: 0,
      out: expect.stringContaining("Plan: 1 to create, 1 to delete, 1 unchanged."),
    });
    expect(deletes(stage)).toHaveLength(1);
  });

  test("deletes a branch of one id at each of two services", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, reader, branch("pr-1", never)));
    const [, here = ""] = connection.split("---\n");
    const there = here.replace("name: default", "name: there").replace("//service", "//another-service");
    const through = compute("other", "type: read_only, connectionRef: {name: there}", main);
    const run = await plan(stage, documents(connection, there, reader, through), "--prune", "--prune-branches");
    expect(run.out).toContain("2 to delete");
  });

  const most = ["--prune", "--prune-branches", "--max-deletes", "9"];
  const linesOf = (stage: Stage) =>
    stage.writes.map(({ line }) => line.replace(`/projects/${project}`, "").replace(/ep-\S+/, "ENDPOINT"));

  test("moves a Compute off a branch before it deletes that", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, reader, branch("pr-1", never), naming("on-it", "pr-1")));
    const id = idOf(stage, "preview/pr-1");
    const [endpoint] = stage.shop.list().filter(({ branch_id }) => branch_id === id);
    stage.writes.length = 0;
    const run = await apply(stage, documents(connection, reader, compute("on-it", "type: read_only", main)), ...most);
    expect(run).toMatchObject({
      status: 0,
      out: expect.stringContaining("Plan: 1 to change, 1 to delete, 1 unchanged."),
    });
    expect(linesOf(stage)).toEqual(["PATCH /endpoints/ENDPOINT", `DELETE /branches/${id}`]);
    expect(stage.shop.get(endpoint?.id ?? "").branch_id).toBe(main);
  });

  test("keeps a branch whose Compute cannot be moved off it", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, reader, branch("pr-1", never), naming("on-it", "pr-1")));
    const run = await apply(
      stage,
      documents(connection, reader, compute("on-it", "type: read_only", "br-none")),
      ...most,
    );
    expect(run).toMatchObject({ status: 1, out: expect.stringMatching(/! Branch shop\/pr-1: InUse: .*\(on-it\)/) });
    expect(deletes(stage)).toEqual([]);
  });

  test("keeps a branch with an endpoint that a Compute adopts for another branch", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, reader, branch("pr-1", never)));
    const branch_id = idOf(stage, "preview/pr-1");
    const { endpoint } = stage.shop.create({ branch_id, type: "read_only" });
    stage.shop.finishOperations();
    const adopting = compute("on-it", `type: read_only, adopt: {endpointID: ${endpoint.id}}`, main);
    const run = await apply(stage, documents(connection, reader, adopting), ...most);
    expect(run).toMatchObject({
      status: 1,
      out: expect.stringMatching(/! Branch shop\/pr-1 +refuse +InUse: .*\(on-it\)/),
    });
    expect(deletes(stage)).toEqual([]);
  });

  test("deletes a branch and what starts from it in one run, children first", async () => {
    using stage = new Stage();
    const from = (name: string, of: string) => branch(name, `parent: {branchName: preview/${of}}, ${never}`);
    await apply(
      stage,
      documents(connection, reader, branch("pr-2", never), from("pr-1", "pr-2"), from("pr-3", "pr-1")),
    );
    const ids = ["pr-3", "pr-1", "pr-2"].map((name) => idOf(stage, `preview/${name}`));
    const run = await apply(stage, documents(connection, reader), ...most);
    expect(run).toMatchObject({ status: 0, out: expect.stringContaining("Plan: 3 to delete, 1 unchanged.") });
    expect(deletes(stage)).toEqual(ids.map((id) => `DELETE /projects/${project}/branches/${id}`));
  });

  test("keeps the parent of a branch that is kept, and names no manifest that could say so", async () => {
    using stage = new Stage();
    const below = branch("pr-2", `parent: {branchName: preview/pr-1}, protected: true, ${never}`);
    await apply(stage, documents(connection, reader, branch("pr-1", never), below));
    const run = await apply(stage, documents(connection, reader), ...most);
    expect(run.status).toBe(1);
    expect(run.out).toMatch(
      /! Branch shop\/pr-1 +refuse +HasChildren: .*preview\/pr-2\) start from branch br-.*\. Delete them\./,
    );
    expect(run.out).toMatch(/! Branch shop\/pr-2 +refuse +Protected: Branch br-.*at the service\./);
    expect(run.out).not.toContain("deletionPolicy");
    expect(deletes(stage)).toEqual([]);
  });

  test("keeps the parent of a branch whose deletion fails", async () => {
    using stage = new Stage();
    const below = branch("pr-2", `parent: {branchName: preview/pr-1}, ${never}`);
    await apply(stage, documents(connection, reader, branch("pr-1", never), below));
    stage.fate = ({ method }) => (method === "DELETE" ? "lost before" : "answered");
    const run = await apply(stage, documents(connection, reader), ...most, "--timeout", "3h");
    expect(run).toMatchObject({ status: 1, out: expect.stringMatching(/! Branch shop\/pr-1: HasChildren: /) });
    expect(new Set(deletes(stage)).size).toBeLessThan(2);
  });

  test("a project whose branches cannot be listed stops it before anything is sent", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, reader, branch("pr-1")));
    stage.rewrite = ({ path }, response) =>
      path.endsWith("/branches")
        ? { status: 503, body: { code: "", message: "later", request_id: "" }, json: true }
        : response;
    const run = await apply(stage, documents(connection, reader), "--prune", "--prune-branches");
    expect(run).toMatchObject({ status: 1, err: expect.stringContaining("--prune-branches: The service") });
    expect(deletes(stage)).toEqual([]);
  });
});

describe("export --branches", () => {
  test("prints a Branch for each branch that no Branch made, and applying them changes nothing", async () => {
    using stage = new Stage();
    standing(stage, "preview/pr-9", noteOf("pr-9", operators));
    stage.env = { COMPUTE_OPERATOR_API_KEY: keys.shop };
    const flags = ["--project", project, "--namespace", "shop", "--branches", "--base-url", baseURL];
    const run = await stage.run("export", flags);
    expect(run).toMatchObject({ status: 0, err: expect.stringContaining("(preview/pr-9) was made by an operator") });
    expect(run.out.match(/kind: Branch/g)).toHaveLength(3);
    const again = await stage.run("apply", ["-f", stage.file("e.yaml", documents(connection, run.out)), "--yes"]);
    expect(again).toMatchObject({ status: 0, err: "" });
    expect(stage.writes).toEqual([]);
    expect(
      (
        await stage.run(
          "export",
          flags.filter((flag) => flag !== "--branches"),
        )
      ).out,
    ).not.toContain("kind: Branch");
  });
});
