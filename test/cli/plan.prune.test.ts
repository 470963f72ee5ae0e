import { describe, expect, test } from "vitest";
import { derivedUID } from "../../src/cli/manifests/derived-uid.ts";
import { fleetOf, signatureOf, signatureOfUID } from "../../src/operator/resources/signature.ts";
import { main, preview, project, staging } from "../service/support/shop.ts";
import { hidingBranches, Stage } from "./command-stage.ts";
import { compute, connection, documents, pool } from "./texts.ts";

const applied = (stage: Stage, text: string, ...flags: string[]) =>
  stage.run("apply", ["-f", stage.file("a.yaml", text), "--yes", ...flags]);

/** In the fleet that `--prune` needs to be given. */
const apply = (stage: Stage, text: string, ...flags: string[]) => applied(stage, text, ...inFleet, ...flags);
const inFleet = ["--fleet", "prod", "--namespace", "shop"];

const replica = (name: string, spec = "") => compute(name, `type: read_only${spec}`, main);

const deletes = (stage: Stage) => stage.writes.flatMap(({ line }) => (line.startsWith("DELETE") ? [line] : []));

/** An endpoint of this name that stands at the service. */
function standing(stage: Stage, name: string, type = "read_only", branch: string = main): string {
  const { endpoint } = stage.shop.create({ branch_id: branch, type, name });
  stage.shop.finishOperations();
  return endpoint.id;
}

/** As apply names the endpoint of a Compute; null: in no fleet. */
function nameFor(namespace: string, name: string, fleet: string | null = "prod"): string {
  const metadata = { namespace, name, uid: derivedUID(namespace, name), resourceVersion: "" };
  return signatureOf({ metadata }, fleet === null ? undefined : fleetOf(fleet));
}

describe("apply --prune", () => {
  test("deletes what apply made for a manifest that is gone, and shows it before", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, replica("a"), replica("b")));
    const gone = stage.shop.list().find(({ name }) => name === nameFor("shop", "b"))?.id ?? "";
    const text = documents(connection, replica("a"));
    expect(await apply(stage, text)).toMatchObject({ status: 0, out: expect.stringContaining("Plan: 1 unchanged.") });
    const run = await apply(stage, text, "--prune");
    expect(run).toMatchObject({ status: 0, err: "" });
    const line = `- shop/${gone}  delete   ${gone}: apply created ${gone} for a Compute of namespace shop that is not declared any more.`;
    expect(run.out).toContain(line);
    expect(run.out).toContain("Plan: 1 to delete, 1 unchanged.");
    expect(run.out).toContain(`shop/${gone}: deleted ${gone}`);
    expect(run.out).not.toContain("deletionPolicy");
    expect(deletes(stage)).toEqual([`DELETE /projects/${project}/endpoints/${gone}`]);
    expect((await apply(stage, text, "--prune")).out).toContain("Plan: 1 unchanged.");
  });

  test("counts an endpoint as gone that the plan listed and no later list shows, as after a deletion by somebody else", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, replica("a"), replica("b")));
    const gone = stage.shop.list().find(({ name }) => name === nameFor("shop", "b"))?.id ?? "";
    const text = documents(connection, replica("a"));
    let before: unknown;
    let isStale = false;
    stage.rewrite = ({ method, path }, response) => {
      if (method !== "GET" || !path.endsWith("/endpoints")) return response;
      before ??= response.body;
      if (!isStale) return response;
      isStale = false;
      return { ...response, body: before };
    };
    await apply(stage, text, "--prune");
    isStale = true;
    const begun = stage.time.now();
    const run = await apply(stage, text, "--prune");
    expect(run).toMatchObject({
      status: 0,
      out: expect.stringContaining(`shop/${gone}: Endpoint ${gone} was already gone.`),
    });
    expect(run.out).not.toMatch(/MassLoss|CreateUnknown/);
    expect(stage.time.now() - begun).toBeLessThan(60_000);
    expect(deletes(stage)).toHaveLength(1);
  });

  test("does not repeat that an endpoint is being deleted while lists still show it", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, replica("a"), replica("b")));
    let deletedAt = Number.POSITIVE_INFINITY;
    let before: unknown;
    stage.rewrite = ({ method, path }, response) => {
      if (method === "DELETE") deletedAt = stage.time.now();
      if (method !== "GET" || !path.endsWith("/endpoints") || stage.time.now() > deletedAt + 5000) return response;
      if (stage.time.now() < deletedAt) before = response.body;
      return { ...response, body: before };
    };
    const run = await apply(stage, documents(connection, replica("a")), "--prune");
    expect(run.out).toMatch(/^ {2}shop\/ep-\S+: deleted ep-/m);
    expect(run.out).not.toContain("Deleting: ");
  });

  test("ends as soon as the endpoint is proved gone, and reports no create", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, replica("a"), replica("b")));
    const before = stage.time.now();
    const run = await apply(stage, documents(connection, replica("a")), "--prune");
    expect(stage.time.now() - before).toBeLessThan(10_000);
    expect(run.out).not.toContain("CreateUnknown");
  });

  test("asks first: nothing is deleted without a yes, or if the plan has changed meanwhile", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, replica("a"), replica("b")));
    stage.terminal = true;
    const path = stage.file("a.yaml", documents(connection, replica("a")));
    expect((await stage.run("apply", ["-f", path, "--prune", ...inFleet], "no\n")).err).toContain("nothing was sent");
    let lists = 0;
    stage.fate = ({ method, path: asked }) => {
      if (method === "GET" && asked.endsWith("/endpoints") && ++lists === 2) standing(stage, nameFor("shop", "late"));
      return "answered";
    };
    const run = await stage.run("apply", ["-f", path, "--prune", ...inFleet], "yes\n");
    expect(run.err).toContain("the service has changed since the plan was shown");
    expect(deletes(stage)).toEqual([]);
  });

  test.each([
    ["of another namespace, though its name is the same", nameFor("eu", "b")],
    ["of another fleet", nameFor("shop", "b", "other")],
    ["of no fleet", nameFor("shop", "b", null)],
    ["of an operator", signatureOfUID("0f6c1d1e-8d5b-4c57-9a3e-000000000009")],
    ["with another name", "reports"],
  ])("keeps endpoints %s", async (_, name) => {
    using stage = new Stage();
    standing(stage, name, "read_only", staging);
    expect(await apply(stage, documents(connection, replica("a")), "--prune")).toMatchObject({ status: 0 });
    expect(deletes(stage)).toEqual([]);
  });

  test("deletes in the namespace that is named alone, whatever namespaces the manifests have", async () => {
    using stage = new Stage();
    const kept = standing(stage, nameFor("eu", "b"));
    const text = documents(connection, replica("a"), `${connection}---\n${replica("a")}`.replaceAll("shop}", "eu}"));
    expect((await apply(stage, text, "--prune")).status).toBe(0);
    expect(stage.shop.list().map(({ id }) => id)).toContain(kept);
  });

  test.each([["--prune"], ["--prune", "--fleet", "prod"], ["--prune", "--namespace", "shop"]])(
    "needs fleet and namespace: %j is refused",
    async (...flags) => {
      using stage = new Stage();
      const text = documents(connection, replica("a"));
      const run = await applied(stage, text, ...flags);
      expect(run).toMatchObject({
        status: 1,
        out: "",
        err: expect.stringContaining("--prune needs --fleet and --namespace"),
      });
      const { err } = await stage.run("plan", ["-f", stage.file("a.yaml", text), ...flags]);
      expect(err).toContain("With --kubeconfig or --context it shows what leaves the cluster");
    },
  );

  test.each([
    ["more than half", 2, 3, "3 of 5 computes of namespace shop would be deleted"],
    ["more than five", 7, 6, "6 of 13 computes of namespace shop would be deleted"],
  ])("stops at %s of the computes, until --max-deletes allows it", async (_, kept, gone, message) => {
    using stage = new Stage();
    const keeping = pool("readers", kept);
    await apply(stage, documents(connection, keeping));
    for (let nth = 0; nth < gone; nth++) standing(stage, nameFor("shop", `gone-${nth}`));
    const text = documents(connection, keeping);
    const run = await apply(stage, text, "--prune");
    expect(run).toMatchObject({ status: 1, err: expect.stringContaining(message) });
    expect(run.err).toContain(`set --max-deletes ${gone}`);
    const fewer = await apply(stage, text, "--prune", "--max-deletes", String(gone - 1));
    expect(fewer.err).toContain(`${gone} computes would be deleted, and --max-deletes is ${gone - 1}`);
    expect(deletes(stage)).toEqual([]);
    expect((await apply(stage, text, "--prune", "--max-deletes", String(gone))).status).toBe(0);
    expect(deletes(stage)).toHaveLength(gone);
  });

  test("plan --prune shows what apply --prune deletes, and deletes nothing", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, replica("a"), replica("b")));
    const path = stage.file("a.yaml", documents(connection, replica("a")));
    const run = await stage.run("plan", ["-f", path, "--prune", ...inFleet]);
    expect(run).toMatchObject({ status: 2, out: expect.stringContaining("Plan: 1 to delete, 1 unchanged.") });
    expect(deletes(stage)).toEqual([]);
  });

  test("deletes the members that a pool lost, and names both where one create took effect twice", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, pool("readers", 3)));
    const twice = standing(stage, nameFor("shop", "readers-2"));
    const run = await apply(stage, documents(connection, pool("readers", 1)), "--prune", "--max-deletes", "2");
    expect(run.status).toBe(0);
    const [line = ""] = run.out.split("\n").filter((each) => each.startsWith("- ") && each.includes(twice));
    expect(line.match(/ep-[a-z0-9-]+/g)?.filter((id) => id === twice)).not.toHaveLength(0);
    expect(new Set(line.match(/ep-[a-z0-9-]+/g)).size).toBe(2);
    expect(stage.shop.list().map(({ name }) => name)).toEqual([undefined, nameFor("shop", "readers-0")]);
  });

  test("shows the same plan in whatever order the service lists what is to go, and what one create made twice", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, replica("a"), replica("b"), replica("c")));
    standing(stage, nameFor("shop", "b"));
    const path = stage.file("a.yaml", documents(connection, replica("a")));
    const { out } = await stage.run("plan", ["-f", path, "--prune", ...inFleet]);
    stage.rewrite = (_, response) => ({
      ...response,
      body: JSON.parse(JSON.stringify(response.body), (_key, value) =>
        Array.isArray(value) ? value.toReversed() : value,
      ),
    });
    expect(await stage.run("plan", ["-f", path, "--prune", ...inFleet])).toMatchObject({ status: 2, out });
  });

  test("deletes the members of a pool that has no replicas any more, if nothing else is declared", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, pool("readers", 2)));
    const text = documents(connection, pool("readers", 0));
    expect(await apply(stage, text)).toMatchObject({ status: 0, out: "\nPlan: nothing.", err: "" });
    const run = await apply(stage, text, "--prune", "--max-deletes", "2");
    expect(run).toMatchObject({ status: 0, out: expect.stringContaining("Plan: 2 to delete.") });
    expect(deletes(stage)).toHaveLength(2);
    expect(await apply(stage, text, "--prune")).toMatchObject({ status: 0, out: "\nPlan: nothing." });
  });

  test("keeps what a Compute that is reached through another connection adopts beside an empty pool", async () => {
    using stage = new Stage();
    const id = standing(stage, nameFor("shop", "before"));
    const [, second = ""] = connection.replace("name: default", "name: second").split("---\n");
    const adopting = replica("a", `, connectionRef: {name: second}, adopt: {endpointID: ${id}}`);
    const text = documents(connection, second, pool("readers", 0), adopting);
    expect(await apply(stage, text, "--prune", "--max-deletes", "1")).toMatchObject({ status: 0 });
    expect(deletes(stage)).toEqual([]);
  });

  test("refuses a --namespace that is no name", async () => {
    using stage = new Stage();
    const flags = ["--prune", "--fleet", "prod", "--namespace", "Shop"];
    expect(await applied(stage, documents(connection, replica("a")), ...flags)).toMatchObject({
      status: 1,
      err: expect.stringContaining("--namespace must be the name of a namespace"),
    });
  });

  test("says so if no manifest is in the namespace, and so no project is known", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, replica("a"), replica("b")));
    const path = stage.file("a.yaml", documents(connection, replica("a")));
    for (const command of ["plan", "apply"] as const) {
      const run = await stage.run(command, ["-f", path, "--prune", "--fleet", "prod", "--namespace", "shpo"]);
      expect(run).toEqual({
        status: 1,
        out: "",
        err: `compute-operator ${command}: no Compute, ComputePool or Branch of these manifests is in namespace shpo, so --prune knows no project to delete from: correct --namespace`,
      });
    }
  });

  test("gives the branch of a renamed primary to its new name", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, compute("a", "", preview)));
    const run = await apply(stage, documents(connection, compute("b", "", preview)), "--prune", "--max-deletes", "1");
    expect(run).toMatchObject({ status: 0, out: expect.stringMatching(/… shop\/b .*has left branch/) });
    const names = stage.shop.list().flatMap(({ branch_id, name }) => (branch_id === preview ? [name] : []));
    expect(names).toEqual([nameFor("shop", "b")]);
  });

  test.each([
    ["by id", "type: read_only, adopt: {endpointID: ID}", "read_only"],
    ["as the primary of its branch", "adopt: {branchPrimary: true}", "read_write"],
    ["by id, though its type does not fit", "type: read_only, adopt: {endpointID: ID}", "read_write"],
  ])("keeps what a manifest adopts %s", async (_, spec, type) => {
    using stage = new Stage();
    const id = standing(stage, nameFor("shop", "before"), type, preview);
    await apply(stage, documents(connection, compute("a", spec.replace("ID}", `${id}}`), preview)), "--prune");
    expect(deletes(stage)).toEqual([]);
  });

  const named = (spec: string) => compute("b", spec).replace(`branchID: ${preview}, `, "");
  const branchOf = (name: string) => `apiVersion: compute-operator.dev/v1alpha1
kind: Branch
metadata: {name: ${name}, namespace: shop}
spec: {projectID: ${project}, expiry: {never: true}, adopt: {branchID: ${preview}}}
`;

  test.each([
    ["branchName", named("branchName: preview, adopt: {branchPrimary: true}")],
    ["branchRef", `${branchOf("base")}---\n${named("branchRef: {name: base}, adopt: {branchPrimary: true}")}`],
  ])("hands the primary of a branch that is given by %s to the Compute that adopts it", async (_, text) => {
    using stage = new Stage();
    await apply(stage, documents(connection, compute("a")));
    const [made = ""] = stage.shop.list().flatMap(({ branch_id, id }) => (branch_id === preview ? [id] : []));
    stage.writes.length = 0;
    const run = await apply(stage, documents(connection, text), "--prune", "--max-deletes", "1");
    expect(run).toMatchObject({ status: 0, out: expect.stringMatching(new RegExp(`= shop/b +as is +adopts ${made}`)) });
    expect(stage.writes).toEqual([]);
  });

  test("keeps a primary for a Compute that adopts it and is paused", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, compute("a")));
    const paused = 'namespace: shop, annotations: {compute-operator.dev/paused: "true"}';
    const text = named("branchName: preview, adopt: {branchPrimary: true}").replace("namespace: shop", paused);
    expect((await apply(stage, documents(connection, text), "--prune", "--max-deletes", "1")).status).toBe(0);
    expect(deletes(stage)).toEqual([]);
  });

  test("keeps a primary while the branch names that a Compute adopts by cannot be looked up", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, compute("a")));
    stage.rewrite = hidingBranches;
    const text = named("branchName: preview, adopt: {branchPrimary: true}");
    await apply(stage, documents(connection, text), "--prune", "--max-deletes", "1");
    expect(deletes(stage)).toEqual([]);
  });

  test("keeps what it made under a name that an operator's Compute of the fleet has now", async () => {
    using stage = new Stage();
    standing(stage, nameFor("shop", "a"));
    const uid = "0f6c1d1e-8d5b-4c57-9a3e-000000000001";
    const metadata = { namespace: "shop", name: "a", uid, resourceVersion: "" };
    standing(stage, signatureOf({ metadata }, fleetOf("prod")));
    expect((await apply(stage, documents(connection, replica("a")), "--prune")).status).toBe(0);
    expect(stage.writes).toEqual([]);
  });

  test("reports an endpoint that the key may not delete, and what to do", async () => {
    using stage = new Stage();
    await apply(stage, documents(connection, replica("a"), replica("b")));
    stage.rewrite = (request, response) =>
      request.method === "DELETE"
        ? { status: 403, body: { code: "", message: "not permitted", request_id: "" }, json: true }
        : response;
    const run = await apply(stage, documents(connection, replica("a")), "--prune");
    expect(run).toMatchObject({ status: 1, out: expect.stringMatching(/! shop\/ep-\S+: Forbidden: .*not permitted/) });
    expect(run.out).not.toContain("deletionPolicy");
  });

  test("deletes nothing at a service that shows no names", async () => {
    using stage = new Stage({ strictSpec: true });
    await apply(stage, documents(connection, replica("a")));
    await apply(stage, documents(connection, compute("b", "", preview)), "--prune");
    expect(deletes(stage)).toEqual([]);
  });
});
