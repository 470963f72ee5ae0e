import { deepStrictEqual } from "node:assert/strict";
import type { Access } from "../../control-plane/kubectl.ts";
import { kubectl } from "../../control-plane/kubectl.ts";
import { compute } from "../../e2e/manifests.ts";
import type { World } from "../../e2e/world.ts";
import type { Engine, Said } from "./engine.ts";
import type { Repository } from "./repository.ts";

/** What happened in one step, for docs/proof/health.md. */
export interface Step {
  title: string;
  /** What the engine did with each object. */
  results: readonly Said[];
  healths: readonly Said[];
  /** Requests that changed something at the service. */
  writes: readonly string[];
}

/** What a step must come to. */
interface Expected {
  /** By kind and name, e.g. `{"Compute/db": "Synced"}`. */
  results: Readonly<Record<string, string>>;
  /** Methods of the requests that change something at the service. */
  writes: readonly string[];
}

export interface Loop {
  cluster: Access;
  world: World;
  repository: Repository;
  engine: Engine;
}

/** Carries steps out and records them. */
export class Steps {
  readonly steps: Step[] = [];
  readonly #loop: Loop;

  constructor(loop: Loop) {
    this.#loop = loop;
  }

  /** Does something in the repository, synchronizes, waits for what follows, and checks and records what came of it. */
  async step(title: string, act: () => Promise<void> | void, wait: () => Promise<void>, expected: Expected) {
    const { engine, world } = this.#loop;
    engine.takeHealths();
    world.counter.clear();
    await act();
    const { resources: said, error } = await engine.sync();
    const results = Object.fromEntries(said.map(({ kind, name, status }) => [`${kind}/${name}`, status]));
    const hasFailed = Object.values(expected.results).includes("SyncFailed");
    deepStrictEqual([results, error !== ""], [expected.results, hasFailed], `${title}: ${error}`);
    await wait();
    const writes = world.counter.writes.filter(({ status }) => status !== 423);
    deepStrictEqual(
      writes.map(({ method }) => method),
      expected.writes,
      title,
    );
    const paths = writes.map(({ method, path }) => `${method} ${path.replace("/api/v2", "")}`);
    this.steps.push({ title, results: said, healths: engine.takeHealths(), writes: paths });
  }
}

const wave = (number: number) => ({ "argocd.argoproj.io/sync-wave": String(number) });

function inWave(number: number, object: { metadata?: object }): object {
  return { ...object, metadata: { ...object.metadata, annotations: wave(number) } };
}

/** All of it: commit, apply, change, refuse, revert, stall, prune, heal. */
export async function playLoop(loop: Loop): Promise<readonly Step[]> {
  const { world, repository, engine, cluster } = loop;
  const steps = new Steps(loop);
  const shop = { projectID: "shop", branchID: "br-main", connectionRef: { kind: "ServiceConnection", name: "shop" } };
  const apiVersion = "compute-operator.dev/v1alpha1";
  const connection = {
    apiVersion,
    kind: "ServiceConnection",
    metadata: { name: "shop" },
    spec: {
      baseURL: world.counter.baseURL,
      apiKeySecretRef: { name: "service-api-key" },
      refreshInterval: "5s",
    },
  };
  const database = (units: object) => inWave(1, compute("db", { ...shop, computeUnits: units }));
  const readers = {
    apiVersion,
    kind: "ComputePool",
    metadata: { name: "readers" },
    spec: { replicas: 1, template: shop },
  };
  const one = { min: 1, max: 1 };
  const all = { "ServiceConnection/shop": "Synced", "Compute/db": "Synced", "ComputePool/readers": "Synced" };
  const nothing = async () => {};
  const healthy = async () => {
    await engine.comesTo("Compute", "db", "Healthy");
    await engine.comesTo("ComputePool", "readers", "Healthy");
  };

  await steps.step(
    "Commit a connection, a primary and a pool of one replica, each in a sync wave of its own",
    () =>
      repository.commit("Add the shop's computes", {
        "connection.yaml": inWave(0, connection),
        "db.yaml": database(one),
        "readers.yaml": inWave(2, readers),
      }),
    healthy,
    { results: all, writes: ["POST", "POST"] },
  );
  inOrder(steps.steps[0]?.healths ?? []);
  const version = () => world.kubectl("get", "computes,computepools", "-o", "jsonpath={.items[*].metadata.generation}");
  const before = await version();
  await steps.step("Synchronize again without a commit", nothing, nothing, { results: all, writes: [] });
  deepStrictEqual(await version(), before);

  await steps.step(
    "Change the size of the primary",
    () => repository.commit("Give the shop more compute units", { "db.yaml": database({ min: 1, max: 4 }) }),
    () => engine.comesTo("Compute", "db", "Healthy"),
    { results: all, writes: ["PATCH"] },
  );
  await steps.step(
    "Commit a size that the API server refuses",
    () => repository.commit("Mistake the order", { "db.yaml": database({ min: 4, max: 1 }) }),
    nothing,
    // The wave of the pool does not begin.
    { results: { "ServiceConnection/shop": "Synced", "Compute/db": "SyncFailed" }, writes: [] },
  );
  await steps.step("Revert the commit", () => repository.revert(), nothing, { results: all, writes: [] });

  const rival = { "rival.yaml": inWave(3, compute("rival", shop)) };
  await steps.step(
    "Commit a second Compute for the same branch",
    () => repository.commit("Add another primary", rival),
    () => engine.comesTo("Compute", "rival", "Degraded", "Conflict"),
    { results: { ...all, "Compute/rival": "Synced" }, writes: [] },
  );
  await steps.step(
    "Revert the commit: it is pruned",
    () => repository.revert(),
    () => engine.comesTo("Compute", "rival", "Missing"),
    { results: { ...all, "Compute/rival": "Pruned" }, writes: [] },
  );

  await steps.step(
    "Edit the primary by hand, past Git: the engine puts it back",
    async () => {
      const patch = JSON.stringify({ spec: { computeUnits: { min: 1, max: 8 } } });
      await kubectl(["-n", world.namespace, "patch", "compute", "db", "--type=merge", "-p", patch], cluster);
      await world.waitForField("compute/db", "{.status.computeUnits.max}", "8");
      await world.waitForReady("compute/db");
      engine.takeHealths();
    },
    () => engine.comesTo("Compute", "db", "Healthy"),
    { results: all, writes: ["PATCH", "PATCH"] },
  );

  const endpoints = await world.endpoints();
  await steps.step(
    "Remove primary and pool from Git: they are pruned",
    () => repository.commit("Close the shop", { "db.yaml": undefined, "readers.yaml": undefined }),
    async () => {
      await engine.comesTo("Compute", "db", "Missing");
      await engine.comesTo("ComputePool", "readers", "Missing");
      await world.kubectl("wait", "--for=delete", "compute", "--all", "--timeout=120s");
    },
    {
      results: { "ServiceConnection/shop": "Synced", "Compute/db": "Pruned", "ComputePool/readers": "Pruned" },
      writes: ["DELETE", "DELETE"],
    },
  );
  deepStrictEqual([endpoints.length, (await world.endpoints()).length], [2, 0]);
  await steps.step("Revert the commit: both are created again", () => repository.revert(), healthy, {
    results: all,
    writes: ["POST", "POST"],
  });
  deepStrictEqual((await world.endpoints()).length, 2);
  return steps.steps;
}

/** A wave begins when all objects of the wave before are healthy. */
function inOrder(healths: readonly Said[]): void {
  const first = (kind: string) => healths.findIndex((one) => one.kind === kind);
  const isHealthy = (kind: string) => healths.findIndex((one) => one.kind === kind && one.status === "Healthy");
  const places = [isHealthy("ServiceConnection"), first("Compute"), isHealthy("Compute"), first("ComputePool")];
  deepStrictEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
}
