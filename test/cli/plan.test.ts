import { describe, expect, test } from "vitest";
import { main, preview, primary, staging } from "../service/support/shop.ts";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents, pool } from "./texts.ts";

/** One manifest for each kind of line in a plan. */
const everything = documents(
  connection,
  compute("shop-primary", "adopt: {branchPrimary: true}, computeUnits: {min: 0.5, max: 4}", main),
  compute("shop-preview", "computeUnits: {min: 1, max: 1}, scaleToZero: {enabled: false}"),
  compute("shop-second"),
  compute("shop-paused", "", staging, 'annotations: {compute-operator.dev/paused: "true"}'),
  pool("shop-readers", 2),
);

describe("the three formats", () => {
  test.each(["text", "json", "markdown"])("%s shows every kind of line, sorted", async (format) => {
    using stage = new Stage();
    const run = await stage.run("plan", ["-f", stage.file("shop.yaml", everything), "--output", format]);
    await expect(run.out).toMatchFileSnapshot(`golden/plan.${format}.txt`);
    expect(run).toMatchObject({ status: 1, err: "" });
  });

  test("text has colour on a terminal only, and not with NO_COLOR", async () => {
    using stage = new Stage();
    const args = ["-f", stage.file("shop.yaml", everything)];
    expect((await stage.run("plan", args)).out).not.toContain("\u001B");
    stage.terminal = true;
    expect((await stage.run("plan", args)).out).toContain("\u001B[32m+ shop/shop-preview");
    stage.env = { NO_COLOR: "1" };
    expect((await stage.run("plan", args)).out).not.toContain("\u001B");
  });
});

test.each([
  [0, "nothing to do", "adopt: {branchPrimary: true}"],
  [2, "changes", "adopt: {branchPrimary: true}, disabled: true"],
  [1, "something that only a person can put right", "computeUnits: {min: 1, max: 1}"],
])("the exit status is %i for %s, and nothing is written", async (status, _what, spec) => {
  using stage = new Stage();
  const run = await stage.run("plan", ["-f", stage.file("a.yaml", documents(connection, compute("a", spec, main)))]);
  expect(run.status).toBe(status);
  expect(stage.writes).toEqual([]);
});

test("a plan warns of what it sends and the public service has announced the end of", async () => {
  using stage = new Stage();
  const planned = async (spec: string, branch: string) =>
    (await stage.run("plan", ["-f", stage.file("a.yaml", documents(connection, compute("a", spec, branch)))])).out;
  expect(await planned("type: read_only, pooler: {enabled: true}", main)).toContain(
    "? shop/a  warning  pooler.enabled: deprecated at the public service, which may not keep it",
  );
  expect(await planned("adopt: {branchPrimary: true}, pooler: {enabled: true}", main)).toContain(
    "warning  pooler.enabled",
  );
  expect(await planned("adopt: {branchPrimary: true}, pooler: {enabled: false}", main)).not.toContain("warning");
  expect(await planned("type: read_only", main)).not.toContain("warning");
});

describe("a compute that the service is still starting", () => {
  test.each([
    [0, "as it will be", ""],
    [2, "with more to come", ", disabled: true"],
  ])("waits, with exit status %i %s", async (status, _what, more) => {
    using stage = new Stage();
    stage.shop.create({ branch_id: preview, type: "read_write" });
    const text = documents(connection, compute("a", `adopt: {branchPrimary: true}${more}`));
    const run = await stage.run("plan", ["-f", stage.file("a.yaml", text)]);
    expect(run).toMatchObject({ status, out: expect.stringContaining("… shop/a  wait     Creating: ") });
  });
});

describe("what a manifest holds of its cluster", () => {
  test("counts: uid, link and restart as kubectl get -o yaml shows them", async () => {
    using stage = new Stage();
    const metadata = `uid: 0b0b, annotations: {compute-operator.dev/endpoint-id: ${primary}, compute-operator.dev/restartedAt: now}`;
    const status = "status: {observedGeneration: 1, restartedAt: before}\n";
    const text = documents(
      connection,
      compute("shop-primary", "adopt: {branchPrimary: true}", main, metadata) + status,
    );
    const run = await stage.run("plan", ["-f", stage.file("a.yaml", text)]);
    expect(run).toMatchObject({ status: 2, out: expect.stringContaining(`~ shop/shop-primary  restart  ${primary}`) });
  });

  test("an endpoint that is no longer listed is not planned again before its absence is proved", async () => {
    using stage = new Stage();
    const metadata = "uid: 0b0b, annotations: {compute-operator.dev/endpoint-id: ep-gone}";
    const run = await stage.run("plan", [
      "-f",
      stage.file("a.yaml", documents(connection, compute("a", "", main, metadata))),
    ]);
    expect(run.status).toBe(1);
    expect(run.out).toContain(
      "MassLoss: No replacement is created: endpoint ep-gone (annotation compute-operator.dev/endpoint-id) is not listed with the current base URL and key",
    );
  });
});

test.each(["plan", "apply"] as const)(
  "%s that is interrupted while it lists says so, and blames no service",
  async (command) => {
    using stage = new Stage();
    stage.fate = () => {
      stage.stopping.abort();
      return "lost before";
    };
    const run = await stage.run(command, ["-f", stage.file("a.yaml", documents(connection, compute("a")))]);
    expect(run).toMatchObject({ status: 1, out: "", err: `compute-operator ${command}: interrupted` });
  },
);

test("two Computes that give one branch by its name make one compute, as the plan shows", async () => {
  using stage = new Stage();
  // The lesser uid, that of h, has the primary.
  const named = (name: string) => compute(name).replace(`branchID: ${preview}`, "branchName: preview");
  const text = documents(connection, named("e"), named("h"));
  const { out, status } = await stage.run("plan", ["-f", stage.file("a.yaml", text)]);
  expect(out.match(/ create /g)).toHaveLength(1);
  expect(out).toContain("Conflict: Compute shop/");
  expect(status).toBe(1);
});

test("two Computes in two namespaces that want one branch make one compute", async () => {
  using stage = new Stage();
  const inShop = documents(connection, compute("a"));
  const text = documents(inShop, inShop.replaceAll("namespace: shop", "namespace: eu"));
  const { out } = await stage.run("plan", ["-f", stage.file("a.yaml", text)]);
  expect(out.match(/ create /g)).toHaveLength(1);
  expect(out).toContain("Conflict: Compute shop/a claims the primary of branch ");
});
