import { mkdirSync, renameSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadKubeConfig } from "../../src/operator/kube/kubeconfig.ts";
import { Beside, kubeconfig } from "./beside.ts";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents } from "./texts.ts";

const held = documents(connection, compute("a"));

/** A cluster that only the environment names. */
function usual(): { beside: Beside; plan: (...flags: string[]) => ReturnType<Stage["run"]> } & Disposable {
  const beside = new Beside(held);
  beside.stage.env = { KUBECONFIG: beside.stage.file("kubeconfig", kubeconfig) };
  const file = beside.stage.file("a.yaml", held);
  const plan = (...flags: string[]) => beside.stage.run("plan", ["-f", file, ...flags]);
  return { beside, plan, [Symbol.dispose]: () => beside[Symbol.dispose]() };
}

describe("the cluster that kubectl would use", () => {
  test("the cluster is the one of KUBECONFIG and its current context", async () => {
    using world = usual();
    expect(await world.plan()).toMatchObject({ status: 0, err: "", out: expect.stringContaining("1 unchanged") });
    const text = compute("b").replace(", namespace: shop", "");
    const file = world.beside.stage.file("b.yaml", text);
    // The namespace of the context.
    expect((await world.beside.stage.run("plan", ["-f", file])).out).toContain("shop/b");
    expect((await world.plan("--context", "prod")).err).toContain('has no context "prod": it has main, other');
  });

  test("the cluster of .kube/config in the home directory is used too", async () => {
    using world = usual();
    const { stage } = world.beside;
    const path = stage.env["KUBECONFIG"] ?? "";
    const home = dirname(path);
    mkdirSync(join(home, ".kube"));
    renameSync(path, join(home, ".kube", "config"));
    stage.env = { HOME: join(home, "elsewhere") };
    expect((await world.plan()).out).toMatch(/kept by an operator|refuse/);
    expect(stage.env).not.toHaveProperty("KUBECONFIG");
  });

  test("the cluster is left out with --no-cluster, and by apply with or without it", async () => {
    using world = usual();
    const alone = await world.plan("--no-cluster");
    expect(alone.out).toContain("is kept by an operator, and nothing shows for which Compute");
    const { stage } = world.beside;
    const applied = await stage.run("apply", ["-f", stage.file("a.yaml", held), "--yes"]);
    expect(applied.out).toBe(alone.out);
    const without = await stage.run("apply", ["-f", stage.file("a.yaml", held), "--yes", "--no-cluster"]);
    expect(without).toEqual(applied);
    const both = await world.plan("--no-cluster", "--context", "main");
    expect(both.err).toContain("--no-cluster excludes --kubeconfig and --context");
  });

  test("a cluster without the CRDs is left out, with a message", async () => {
    using world = usual();
    const { beside } = world;
    const { cluster } = beside.stage;
    if (cluster === undefined) throw new Error("no cluster");
    beside.stage.cluster = {
      ...cluster,
      request: () => Promise.resolve({ status: 404, body: { message: "not found" } }),
    };
    const run = await world.plan();
    expect(run.err).toBe(
      "compute-operator plan: the cluster at https://cluster.test:6443 knows no Computes, so it is left out",
    );
    expect(run.out).toContain("is kept by an operator");
  });

  test("a cluster that cannot be read is a problem, which names the way to do without it", async () => {
    using world = usual();
    world.beside.refused.add("/computes");
    const run = await world.plan();
    expect(run).toMatchObject({ status: 1, out: "" });
    expect(run.err).toMatch(/cannot be read: .*403.*\. --no-cluster plans without it$/);
    const broken = usual();
    using _ = broken;
    broken.beside.stage.env = { KUBECONFIG: broken.beside.stage.file("broken", "{") };
    expect((await broken.plan()).err).toMatch(/Cannot read the kubeconfig .*--no-cluster plans without it$/);
  });
});

test("the first of several files in KUBECONFIG that names something counts, and one may be missing", () => {
  using stage = new Stage();
  const first = stage.file("first", kubeconfig.replace("current-context: main\n", ""));
  const second = stage.file(
    "second",
    kubeconfig.replace("current-context: main", "current-context: other").replace("cluster.test", "second.test"),
  );
  const third = stage.file("third", kubeconfig);
  const connected = loadKubeConfig({
    env: { KUBECONFIG: [join(stage.directory, "none"), first, second, third].join(delimiter) },
  });
  expect(connected).toMatchObject({ server: "https://cluster.test:6443", namespace: undefined });
});
