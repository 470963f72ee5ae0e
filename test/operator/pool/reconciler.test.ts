import { describe, expect, test } from "vitest";
import { computePoolKind } from "../../../src/operator/resources/compute-pool.ts";
import { labels } from "../../../src/operator/resources/names.ts";
import { shortlyMs, soonMs } from "../../../src/operator/runtime/waits.ts";
import { pooled, root } from "./pooled.ts";

describe(`a ${computePoolKind.kind}`, () => {
  test("a pool of which the API server refuses a change says so, carries out the others, and tries again", async () => {
    const world = pooled(2);
    const { pool, computes, reconcile } = world;
    let refused = 0;
    world.refuses = ({ method, path }) => method === "POST" && path.endsWith("/computes") && ++refused === 1;
    expect(await reconcile()).toBe(60_000);
    expect((await computes()).map(({ metadata }) => metadata.name)).toEqual(["web-1"]);
    expect(pool().status.conditions).toContainEqual(
      expect.objectContaining({ type: "Stalled", status: "True", reason: "Rejected" }),
    );
    expect(await reconcile()).toBe(10_000);
    expect(await computes()).toHaveLength(2);
    expect(await reconcile()).toBeUndefined();
  });

  test("a pool whose members wait for one reason shows that reason and its message, with their number", async () => {
    const world = pooled(2);
    await world.reconcile();
    const report = (index: number, reason: string, stalled: boolean) => {
      const at = { lastTransitionTime: "2026-01-01T00:00:00Z", reason, message: `${reason} of member ${index}.` };
      const conditions = [
        { type: "Ready", status: "False", ...at },
        ...(stalled ? [{ type: "Stalled", status: "True", ...at }] : []),
      ];
      world.cluster.server.handle({
        method: "PATCH",
        path: `${root}/computes/web-${index}/status`,
        body: [{ op: "replace", path: "/status", value: { observedGeneration: 1, conditions } }],
        contentType: "application/json-patch+json",
      });
    };
    const shown = () => world.pool().status.conditions?.map(({ type, reason, message }) => [type, reason, message]);
    for (const index of [0, 1]) report(index, "Unauthorized", false);
    await world.reconcile();
    expect(shown()).toEqual([
      ["Ready", "Unauthorized", "2 of 2 replicas are not ready: Unauthorized of member 0."],
      ["Reconciling", "Unauthorized", "In progress: see the condition Ready."],
    ]);
    for (const index of [0, 1]) report(index, "Unauthorized", true);
    await world.reconcile();
    expect(shown()?.[1]?.slice(0, 2)).toEqual(["Stalled", "Unauthorized"]);
    report(1, "Creating", false);
    await world.reconcile();
    expect(shown()?.map(([type, reason]) => [type, reason])).toEqual([
      ["Ready", "Scaling"],
      ["Reconciling", "Scaling"],
    ]);
    expect(world.reported.filter((event) => event.includes("Unauthorized"))).toEqual([]);
  });

  test("a conflict on one member keeps neither the others nor the pool's status waiting", async () => {
    const world = pooled(2);
    await world.reconcile();
    world.move("br-other");
    world.cluster.fate = ({ method, path }) =>
      method === "PATCH" && path.endsWith("/computes/web-0") ? { kind: "status", afterMs: 0, status: 409 } : undefined;
    expect(await world.reconcile()).toBe(shortlyMs);
    expect((await world.computes()).map(({ spec }) => spec.branchID)).toEqual(["br-main", "br-other"]);
    expect(world.pool().status).toMatchObject({ observedGeneration: 2, conditions: [{ reason: "Scaling" }, {}] });
    world.cluster.fate = () => undefined;
    await world.reconcile();
    expect((await world.computes()).map(({ spec }) => spec.branchID)).toEqual(["br-other", "br-other"]);
  });

  test("a status that the API server finds outdated is written by the next reconcile, and is no error", async () => {
    const world = pooled(1);
    world.cluster.fate = ({ path }) =>
      path.endsWith("/status") ? { kind: "status", afterMs: 0, status: 409 } : undefined;
    expect(await world.reconcile()).toBe(soonMs);
    world.cluster.fate = () => undefined;
    // The version that was found outdated counts again once the API server has no newer one.
    await world.cluster.clock.advance(shortlyMs);
    await world.reconcile();
    expect(world.pool().status).toMatchObject({ observedGeneration: 1, conditions: [{ reason: "Scaling" }, {}] });
  });

  test("says what happens in one condition, so that kubectl describe shows the message once", async () => {
    const world = pooled(2);
    const messages = () => world.pool().status.conditions?.map(({ type, message }) => [type, message]);
    await world.reconcile();
    expect(messages()).toEqual([
      ["Ready", expect.stringMatching(/^Replicas are being created.* kubectl get computes -l .*\/pool=web$/)],
      ["Reconciling", "In progress: see the condition Ready."],
    ]);
    await world.reconcile();
    expect(messages()?.[0]).toEqual(["Ready", expect.stringMatching(/^Replicas are not ready yet\. See each/)]);
    world.refuses = ({ method, path }) => method === "POST" && path.endsWith("/computes");
    world.scale(3);
    await world.reconcile();
    expect(messages()).toEqual([
      ["Ready", expect.stringContaining("The Kubernetes API server refused to create, change or delete a replica")],
      ["Stalled", "A person has to act: see the condition Ready."],
    ]);
  });

  test("deletes no replica that has changed since: its finalizer or its owner may be another", async () => {
    const world = pooled(2);
    await world.reconcile();
    world.scale(1);
    world.refuses = ({ method }) => {
      if (method === "DELETE") world.edit(1);
      return false;
    };
    expect(await world.reconcile()).toBe(shortlyMs);
    expect(await world.computes()).toHaveLength(2);
    world.refuses = () => false;
    await world.reconcile();
    expect(await world.computes()).toHaveLength(1);
  });

  test("deletes no replica of an old number: a cache may know the Computes better than the pool", async () => {
    const world = pooled(1);
    const { pool, computes, reconcile, scale } = world;
    await reconcile();
    const old = pool();
    scale(3);
    await reconcile();
    expect(await computes()).toHaveLength(3);
    world.seen = old;
    expect(await reconcile()).toBe(shortlyMs);
    expect(await computes()).toHaveLength(3);
    expect((await computes()).every(({ metadata }) => metadata.deletionTimestamp === undefined)).toBe(true);
  });

  test("a pool is not Ready for a template that its replicas have yet to be given", async () => {
    const world = pooled(1);
    const { pool, reconcile } = world;
    await reconcile();
    world.ready();
    await reconcile();
    expect(pool().status.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }));
    world.move("br-other");
    await reconcile();
    expect(pool().status).toMatchObject({ observedGeneration: 2, readyReplicas: 0 });
    expect(pool().status.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "False" }));
  });

  test("a pool of which several changes are refused says why the first was", async () => {
    const world = pooled(2);
    await world.reconcile();
    world.move("br-other");
    world.refuses = ({ method, path }) => method === "PATCH" && path.includes("/computes/");
    await world.reconcile();
    const [ready] = world.pool().status.conditions ?? [];
    expect(ready?.message).toContain("web-0");
  });

  test("creates no replica for a pool that was replaced by another of its name and generation", async () => {
    const world = pooled(1);
    const former = world.pool();
    const path = `${root}/computepools`;
    world.cluster.server.handle({ method: "DELETE", path: `${path}/web` });
    const { apiVersion, kind, spec } = former;
    world.cluster.server.handle({ method: "POST", path, body: { apiVersion, kind, metadata: { name: "web" }, spec } });
    expect(world.pool().metadata.generation).toBe(former.metadata.generation);
    world.seen = former;
    expect(await world.reconcile()).toBe(shortlyMs);
    expect(await world.computes()).toEqual([]);
  });

  test("a replica has its pool's labels, and the one by which the pool finds it whatever the pool itself bears", async () => {
    const world = pooled(1);
    const value = { team: "shop", [labels.pool]: "another" };
    const body = [{ op: "add", path: "/metadata/labels", value }];
    const contentType = "application/json-patch+json";
    world.cluster.server.handle({ method: "PATCH", path: `${root}/computepools/web`, contentType, body });
    await world.reconcile();
    expect((await world.computes()).map(({ metadata }) => metadata.labels)).toEqual([
      { team: "shop", [labels.pool]: "web" },
    ]);
  });

  test("a pool that another operator's selector selects is left to that operator", async () => {
    const world = pooled(2);
    world.selected = false;
    expect(await world.reconcile()).toBeUndefined();
    expect(await world.computes()).toEqual([]);
    expect(world.pool().status.conditions ?? []).toEqual([]);
  });
});

describe("a pool that was restored from a backup", () => {
  const former = { apiVersion: "compute-operator.dev/v1alpha1", kind: "ComputePool", name: "web", controller: true };

  test.each([
    ["without an owner", {}],
    ["with its former owner", { ownerReferences: [{ ...former, uid: "the former pool's" }] }],
  ])("takes a member back that was restored %s, gives it the template, and creates no other", async (_, owners) => {
    const world = pooled(1);
    const { reconcile, computes, cluster, reported } = world;
    const metadata = {
      name: "web-0",
      labels: { "compute-operator.dev/pool": "web" },
      annotations: { "compute-operator.dev/endpoint-id": "ep-old" },
      ...owners,
    };
    const spec = { type: "read_only", projectID: "shiny-wind-028834", branchID: "br-before" };
    const body = { apiVersion: "compute-operator.dev/v1alpha1", kind: "Compute", metadata, spec };
    cluster.server.handle({ method: "POST", path: `${root}/computes`, body });
    expect(await reconcile()).toBe(10_000);
    await reconcile();
    const [member, ...others] = await computes();
    expect(others).toEqual([]);
    expect(member?.metadata.annotations).toEqual(metadata.annotations);
    expect(member?.metadata.ownerReferences).toEqual([
      expect.objectContaining({ kind: "ComputePool", uid: world.pool().metadata.uid, controller: true }),
    ]);
    expect(member?.spec.branchID).toBe("br-main");
    expect(reported).toContainEqual(
      expect.stringMatching(/^Normal Compute web-0 Adopted: Taken back by ComputePool web/),
    );
  });
});

describe("many replicas at once", () => {
  const isCreate = ({ method, path }: { method: string; path: string }) =>
    method === "POST" && path.endsWith("/computes");

  test("many replicas are made in batches that double, seven at once and then with a pause after each", async () => {
    const world = pooled(1000);
    const { cluster, reconcile, computes } = world;
    const sizes: number[] = [];
    for (let waitMs = 0; ; ) {
      await cluster.clock.advance(waitMs);
      // Each reconcile starts from the result of the previous one.
      const next = await reconcile();
      sizes.push((await computes()).length);
      if (next === undefined || next > 500) break;
      waitMs = next;
    }
    expect(sizes).toEqual([7, 15, 31, 63, 127, 255, 511, 1000]);
    expect(await reconcile()).toBeUndefined();
  });

  test("news that cut a pause short lead to no replicas before its end", async () => {
    const world = pooled(20);
    expect(await world.reconcile()).toBe(500);
    await world.cluster.clock.advance(100);
    expect(await world.reconcile()).toBe(400);
    expect(await world.computes()).toHaveLength(7);
  });

  test("a number that is corrected at once leaves hardly more replicas than are wanted", async () => {
    const world = pooled(1000);
    await world.reconcile();
    world.scale(2);
    await world.cluster.clock.advance(500);
    await world.reconcile();
    await world.reconcile();
    const standing = (await world.computes()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    expect(standing.map(({ metadata }) => metadata.name)).toEqual(["web-0", "web-1"]);
    expect(world.cluster.requests.filter(isCreate)).toHaveLength(7);
  });

  test("ask between batches whether the number still holds, where the watch does not say so yet", async () => {
    const world = pooled(1000);
    world.seen = world.pool();
    let created = 0;
    world.refuses = (request) => {
      if (isCreate(request) && ++created === 2) world.scale(2);
      return false;
    };
    await world.reconcile();
    expect(await world.computes()).toHaveLength(3);
  });

  test("many replicas that a quota refuses cost two requests, and not one for each", async () => {
    const world = pooled(100);
    let refused = 0;
    world.refuses = (request) => isCreate(request) && ++refused > 0;
    expect(await world.reconcile()).toBe(60_000);
    expect(refused).toBe(2);
  });

  test("replicas are not removed any further once the watch brings another number", async () => {
    const world = pooled(6);
    await world.reconcile();
    world.scale(0);
    let removed = 0;
    world.refuses = ({ method, path }) => {
      if (method === "DELETE" && path.includes("/computes/") && ++removed === 2) world.scale(6);
      return false;
    };
    await world.reconcile();
    expect(removed).toBe(2);
  });
});
