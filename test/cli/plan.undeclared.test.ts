import { describe, expect, test } from "vitest";
import { main, preview, project, staging } from "../service/support/shop.ts";
import { Beside } from "./beside.ts";
import { compute, connection, documents, pool } from "./texts.ts";

const replica = (name: string, spec = "", metadata = "") =>
  compute(name, `type: read_only${spec === "" ? "" : `, ${spec}`}`, main, metadata);
const byFlux =
  (group: string) =>
  (name: string, namespace = "flux-system") =>
    `labels: {${group}.toolkit.fluxcd.io/name: ${name}, ${group}.toolkit.fluxcd.io/namespace: ${namespace}}`;
const flux = byFlux("kustomize");
const helm = byFlux("helm");
const argo = (name: string) =>
  `annotations: {argocd.argoproj.io/tracking-id: "${name}:compute-operator.dev/Compute:shop/x"}`;
const spare = `apiVersion: compute-operator.dev/v1alpha1
kind: ServiceConnection
metadata: {name: spare, namespace: shop}
spec: {baseURL: "https://service.example.com/api/v2", apiKeySecretRef: {name: service-api-key}}
`;

const branch = (name: string, spec = "expiry: {after: 72h}") => `apiVersion: compute-operator.dev/v1alpha1
kind: Branch
metadata: {name: ${name}, namespace: shop}
spec: {projectID: ${project}, ${spec}}
`;
const held = documents(connection, spare, replica("a"), replica("b"), replica("c"), pool("readers", 2));

/** The lines of a plan that begin with this sign. */
const lines = (out: string, sign: string) => out.split("\n").filter((line) => line.startsWith(`${sign} `));

test("plan --prune shows a declared Compute once that goes with the pool which leaves, and why", async () => {
  using beside = new Beside(held);
  const run = await beside.run("plan", documents(connection, replica("a"), replica("readers-0")), "--prune");
  const shown = lines(run.out, "-").concat(lines(run.out, "="), lines(run.out, "~"));
  expect(shown.filter((line) => line.includes(" shop/readers-0 "))).toEqual([
    expect.stringMatching(
      /^- shop\/readers-0 +delete .*: no manifest declares its owner any more, and the Compute goes with it/,
    ),
  ]);
  expect(shown.filter((line) => line.includes(" shop/readers-1 "))).toEqual([
    expect.stringMatching(/^- shop\/readers-1 +delete .*: no manifest declares the Compute any more/),
  ]);
});

describe("plan without --prune", () => {
  test("gives the number of objects that left the manifests, by namespace and kind, and exits as without them", async () => {
    using beside = new Beside(held);
    const run = await beside.run("plan", documents(connection, replica("a")));
    expect(run).toMatchObject({ status: 0, err: "" });
    expect(lines(run.out, "?").map((line) => line.replace(/ \(--prune.*/, ""))).toEqual([
      "? 2 Computes of namespace shop are not in these manifests: b, c",
      "? 1 ComputePool of namespace shop is not in these manifests: readers",
      "? 1 ServiceConnection of namespace shop is not in these manifests: spare",
    ]);
    expect(run.out).toContain("Plan: 1 unchanged, 4 not in these manifests.");
  });

  test("shows the number in JSON and Markdown too", async () => {
    using beside = new Beside(documents(connection, replica("a"), replica("b")));
    const text = documents(connection, replica("a"));
    const json = JSON.parse((await beside.run("plan", text, "--output", "json")).out);
    expect(json).toMatchObject({
      undeclared: [{ kind: "Compute", namespace: "shop", names: ["b"] }],
      summary: { changes: false, problems: false },
    });
    expect(json).not.toHaveProperty("pruned");
    expect((await beside.run("plan", text, "--output", "markdown")).out).toBe(
      "### Compute plan: 1 unchanged, 1 not in these manifests\n\n- 1 Compute of namespace shop is not in these manifests: `b`",
    );
  });

  test("counts nothing where the manifests are complete, and knows nothing without a cluster", async () => {
    using beside = new Beside(held);
    expect(JSON.parse((await beside.run("plan", held, "-o", "json")).out).undeclared).toEqual([]);
    const run = await beside.stage.run("plan", ["-f", beside.stage.file("a.yaml", held), "-o", "json"]);
    expect(JSON.parse(run.out)).not.toHaveProperty("undeclared");
  });
});

describe("plan --prune", () => {
  test("lets a Compute go that never had an endpoint", async () => {
    using beside = new Beside(documents(connection, replica("a")));
    beside.post(replica("new"));
    const run = await beside.run("plan", documents(connection, replica("a")), "--prune");
    expect(run).toMatchObject({ status: 2, err: "" });
    expect(run.out).toMatch(/- shop\/new +release +No endpoint was ever created for this Compute\.\n/);
  });

  test("shows each as a deletion, with the members of a pool, and exits with 2", async () => {
    using beside = new Beside(held);
    const run = await beside.run("plan", documents(connection, replica("a")), "--prune");
    expect(run).toMatchObject({ status: 2, err: "" });
    const shown = lines(run.out, "-").map((line) => line.replaceAll(/ep-[a-z0-9-]+/g, "ID").replaceAll(/ +/g, " "));
    const gone = "delete ID: no manifest declares the Compute any more: its endpoint and host are deleted.";
    expect(shown).toEqual([
      `- shop/b ${gone}`,
      `- shop/c ${gone}`,
      `- shop/readers-0 ${gone}`,
      `- shop/readers-1 ${gone}`,
      "- ComputePool shop/readers delete its Computes are deleted with it",
      "- ServiceConnection shop/spare delete no Compute uses it",
    ]);
    expect(run.out).toContain("Plan: 6 to delete, 1 unchanged.");
    expect(beside.stage.writes).toEqual([]);
  });

  test("shows them in JSON and Markdown too", async () => {
    using beside = new Beside(held);
    const text = documents(connection, replica("a"), replica("b"), replica("c"));
    const json = JSON.parse((await beside.run("plan", text, "--prune", "-o", "json")).out);
    expect(json).toMatchObject({
      pruned: [
        { kind: "ComputePool", name: "shop/readers", step: "delete" },
        { kind: "ServiceConnection", name: "shop/spare", step: "delete" },
      ],
      summary: { delete: 4, changes: true, problems: false },
    });
    const { out } = await beside.run("plan", text, "--prune", "-o", "markdown");
    expect(out).toMatch(/^\| `shop\/readers-1` \| delete \| `ep-\S+`: no manifest declares/m);
    expect(out).toContain("| ServiceConnection `shop/spare` | delete | no Compute uses it |");
  });

  test("says that an endpoint is let go where deletionPolicy: Retain keeps it, which is a change", async () => {
    using beside = new Beside(documents(connection, replica("a"), replica("b", "deletionPolicy: Retain")));
    const run = await beside.run("plan", documents(connection, replica("a")), "--prune");
    expect(run.status).toBe(2);
    expect(run.out).toMatch(/^- shop\/b +release +ep-\S+: Endpoint ep-\S+ is kept: deletionPolicy is Retain\./m);
    expect(run.out).toContain("Plan: 1 to let go, 1 unchanged.");
  });

  test("shows what becomes of a branch: deleted with its data, kept, or protected", async () => {
    const branches = [
      branch("pr-1"),
      branch("pr-2", "expiry: {after: 72h}, deletionPolicy: Retain"),
      branch("pr-3", "expiry: {never: true}, adopt: {byName: true}"),
      branch("pr-4", "expiry: {never: true}, deletionProtection: true"),
    ];
    using beside = new Beside(documents(connection, replica("a"), branch("pr-0"), ...branches));
    const text = documents(connection, replica("a"), branch("pr-0"));
    expect((await beside.run("plan", text)).out).toContain(
      "? 4 Branches of namespace shop are not in these manifests: pr-1, pr-2, pr-3, pr-4",
    );
    const run = await beside.run("plan", text, "--prune", "-o", "json");
    expect(run.status).toBe(1);
    const shown = JSON.parse(run.out).pruned.map(({ name, step, message }: Record<string, string>) => [
      name,
      step,
      message,
    ]);
    expect(shown).toEqual([
      ["shop/pr-1", "delete", "its branch and its data are deleted"],
      ["shop/pr-2", "delete", "its branch is kept"],
      ["shop/pr-3", "delete", "its branch is kept"],
      ["shop/pr-4", "refuse", expect.stringContaining("deletionProtection: true refuses its deletion")],
    ]);
  });

  test("refuses a branch that a Compute still names", async () => {
    const naming = compute("naming").replace(`branchID: ${preview}`, "branchRef: {name: pr-1}");
    using beside = new Beside(documents(connection, replica("a"), branch("pr-1"), branch("pr-2")));
    beside.post(naming);
    const run = await beside.run("plan", documents(connection, replica("a"), naming), "--prune");
    expect(run.status).toBe(1);
    expect(run.out).toMatch(/^! Branch shop\/pr-1 +refuse +its deletion waits while Computes name it: shop\/naming\./m);
    expect(run.out).toMatch(/^- Branch shop\/pr-2 +delete/m);
  });

  test("refuses what deletionProtection protects", async () => {
    using beside = new Beside(documents(connection, replica("a"), replica("b", "deletionProtection: true")));
    const run = await beside.run("plan", documents(connection, replica("a")), "--prune");
    expect(run.status).toBe(1);
    expect(run.out).toMatch(/^! shop\/b +refuse +No manifest declares .* deletionProtection: true refuses/m);
  });

  test("refuses a connection that a Compute still uses, if both have one label; another is applied elsewhere", async () => {
    const uses = replica("a", "connectionRef: {name: spare}", flux("shop"));
    const labelled = (name: string) => spare.replace("namespace: shop", `namespace: shop, ${flux(name)}`);
    using beside = new Beside(documents(connection, labelled("shop"), uses));
    const run = await beside.run("plan", documents(connection, uses), "--prune");
    expect(run.status).toBe(1);
    expect(run.out).toMatch(
      /^! ServiceConnection shop\/spare +refuse +its deletion waits while Computes use it: shop\/a\./m,
    );
    using apart = new Beside(documents(connection, spare, replica("a", "connectionRef: {name: spare}")));
    const kept = await apart.run("plan", replica("a", "connectionRef: {name: spare}"), "--prune");
    expect(kept.out).toContain("Plan: 1 to delete, 1 unchanged.");
    expect(lines(kept.out, "-")).toEqual([expect.stringContaining("ServiceConnection shop/default")]);
  });

  test.each([
    ["Flux", flux("shop"), flux("other")],
    ["a Kustomization of one namespace", flux("shop"), flux("shop", "team")],
    ["a HelmRelease of one namespace", helm("shop"), helm("shop", "team")],
    ["Argo CD", argo("shop"), argo("other")],
  ])("narrows the deletions to what %s labelled as it did the declared objects", async (_, mark, other) => {
    using beside = new Beside(
      documents(connection, replica("a", "", mark), replica("b", "", mark), replica("c", "", other), replica("d")),
    );
    const run = await beside.run("plan", documents(connection, replica("a", "", mark)), "--prune");
    expect(lines(run.out, "-")).toEqual([expect.stringContaining("- shop/b")]);
  });

  test("leaves out what Flux labelled where the declared objects bear no label, and counts all where none of them stands", async () => {
    using beside = new Beside(documents(connection, replica("a"), replica("b"), replica("c", "", flux("shop"))));
    const some = await beside.run("plan", documents(connection, replica("a")), "--prune");
    expect(lines(some.out, "-")).toEqual([expect.stringContaining("- shop/b")]);
    const away = await beside.run("plan", compute("new", "", staging), "--prune");
    expect(lines(away.out, "-").map((line) => line.split(" ")[1])).toEqual(["shop/a", "shop/b", "shop/c"]);
  });

  test("takes a label of Argo CD's name that the manifests themselves write for no mark", async () => {
    const own = (name: string) => `labels: {app.kubernetes.io/instance: ${name}}`;
    using beside = new Beside(documents(connection, replica("a", "", own("a")), replica("b", "", own("b"))));
    const run = await beside.run("plan", documents(connection, replica("a", "", own("a"))), "--prune");
    expect(lines(run.out, "-")).toEqual([expect.stringContaining("- shop/b")]);
  });

  test.each([
    "kustomize.toolkit.fluxcd.io/prune: disabled",
    "kustomize.toolkit.fluxcd.io/reconcile: disabled",
    'argocd.argoproj.io/sync-options: "Prune=false,Replace=true"',
  ])("keeps what is annotated with %s", async (annotation) => {
    using beside = new Beside(documents(connection, replica("a"), replica("b", "", `annotations: {${annotation}}`)));
    const run = await beside.run("plan", documents(connection, replica("a")), "--prune");
    expect(run.status).toBe(0);
    expect(run.out).toMatch(/^= Compute shop\/b +as is +stays in the cluster: it has /m);
  });

  test("shows that the last Compute of the manifests left", async () => {
    using beside = new Beside(documents(connection, replica("a")));
    const run = await beside.run("plan", connection, "--prune");
    expect(run).toMatchObject({ status: 2, out: expect.stringContaining("Plan: 1 to delete.") });
  });

  test("gives the branch of a renamed primary to its new name after the deletion", async () => {
    using beside = new Beside(documents(connection, compute("a", "", staging)));
    const run = await beside.run("plan", documents(connection, compute("b", "", staging)), "--prune");
    expect(run.status).toBe(2);
    expect(run.out).toMatch(/^- shop\/a +delete/m);
    expect(run.out).toMatch(/^… shop\/b +wait/m);
  });
});
