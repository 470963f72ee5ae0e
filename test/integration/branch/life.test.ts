import { expect, it } from "vitest";
import { BranchWorld, hour } from "./branches.ts";

it("a Branch is made with its end and its note in one request, and shown", async () => {
  await using world = new BranchWorld({ settings: { fleet: "prod" } });
  world.branch("pr-42");
  await world.until("pr-42", "Available");
  const post = world.host.calls.find(({ method }) => method === "POST");
  const { uid } = world.object("pr-42").metadata;
  expect(post?.body).toMatchObject({
    branch: { name: "default/pr-42" },
    annotation_value: {
      "compute-operator.dev/uid": uid,
      "compute-operator.dev/fleet": "prod",
      "compute-operator.dev/object": "default/pr-42",
    },
  });
  const made = world.named("default/pr-42");
  expect(world.msUntil(made?.expires_at)).toBeGreaterThan(72 * hour - 60_000);
  expect(world.msUntil(made?.expires_at)).toBeLessThanOrEqual(72 * hour);
  expect(made?.expires_at).toMatch(/:\d\d(\.000)?Z$/);
  expect(world.object("pr-42").status).toMatchObject({
    state: "Ready",
    branchID: made?.id,
    branchName: "default/pr-42",
    parentID: "br-main",
    expiresAt: made?.expires_at,
    appliedExpiry: "after 72h",
    deletionPolicy: "Delete",
    proof: { uid, branchID: made?.id, by: "created" },
    appliedGeneration: 1,
    observedGeneration: 1,
  });
  expect(world.events("Created")).toHaveLength(1);
});

it("a Branch costs two writes from its manifest to its end, and none while it stands", async () => {
  await using world = new BranchWorld();
  world.branch("pr-42");
  await world.until("pr-42", "Available");
  expect(world.writes).toEqual(["POST /projects/shop/branches"]);
  const { resourceVersion } = world.object("pr-42").metadata;
  const before = world.host.calls.length;
  await world.clock.advance(10 * 30_000);
  const settled = world.host.calls.slice(before).map(({ method, path }) => `${method} ${path}`);
  expect(settled.filter((call) => call === "GET /projects/shop/branches").length).toBeLessThanOrEqual(11);
  expect(settled.filter((call) => call === "GET /projects/shop/endpoints").length).toBeLessThanOrEqual(11);
  expect(settled.filter((call) => !/^GET .*(branches|endpoints|projects|auth)$/.test(call))).toEqual([]);
  expect(world.object("pr-42").metadata.resourceVersion).toBe(resourceVersion);
  world.drop("pr-42");
  await world.untilDropped("pr-42");
  expect(world.writes).toHaveLength(2);
  expect(world.writes[1]).toMatch(/^DELETE \/projects\/shop\/branches\/br-/);
  expect(world.made).toEqual([]);
  expect(world.events("Deleted")).toHaveLength(1);
});

it("a Branch starts from the parent that its spec names, and waits for one that is not there", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1", { parent: { branchName: "br-staging" }, branchName: "preview/1" });
  world.branch("pr-2", { parent: { branchName: "absent" } });
  await world.until("pr-1", "Available");
  expect(world.named("preview/1")?.parent_id).toBe("br-staging");
  await world.until("pr-2", "BranchNotFound");
  world.madeElsewhere("absent");
  await world.until("pr-2", "Available");
});

it("a Branch that the project has no room for is Rejected, and made at once when another branch goes", async () => {
  await using world = new BranchWorld();
  const other = world.madeElsewhere("other");
  world.host.instead = ({ method, path }) => {
    if (method !== "POST" || !path.endsWith("/branches") || world.named("other") === undefined) return undefined;
    const body = JSON.stringify({ code: "BRANCHES_LIMIT_EXCEEDED", message: "branches limit exceeded" });
    return { status: 422, headers: {}, body };
  };
  world.branch("pr-1");
  await world.until("pr-1", "Rejected");
  await world.clock.advance(2 * hour);
  const refused = world.writes.length;
  expect(refused).toBeLessThan(10);
  world.console("DELETE", `/projects/shop/branches/${other.id}`);
  await world.until("pr-1", "Available", 60_000);
  expect(world.writes).toHaveLength(refused + 1);
});

it("a Branch that was never made is gone at once, and asks the service for nothing", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1", { parent: { branchName: "absent" } });
  await world.until("pr-1", "BranchNotFound");
  world.drop("pr-1");
  expect(world.isDropped("pr-1")).toBe(true);
  expect(world.writes).toEqual([]);
});

it("a Branch is let go with Retain, and its branch keeps the end that it has", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1", { deletionPolicy: "Retain" });
  await world.until("pr-1", "Available");
  world.drop("pr-1");
  await world.untilDropped("pr-1");
  const [made] = world.made;
  expect(made?.expires_at).toBeDefined();
  expect(world.events("Released")[0]).toContain(`still ends at ${made?.expires_at}`);
});

it("a Branch keeps connection and Secret until its branch is deleted", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1");
  await world.until("pr-1", "Available");
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections/default";
  world.send("DELETE", path);
  world.send("DELETE", "/api/v1/namespaces/default/secrets/service-api-key");
  await world.clock.advance(60_000);
  expect(world.send("GET", path).metadata.finalizers).toEqual(["compute-operator.dev/in-use"]);
  expect(world.send("GET", path).status.conditions[0].message).toContain("Branch pr-1");
  world.drop("pr-1");
  await world.untilDropped("pr-1");
  expect(world.made).toEqual([]);
  await world.clock.advance(30_000);
  expect(world.server.handle({ method: "GET", path }).status).toBe(404);
});

it("a Branch waits while its project's budget or the service's work lets nothing through, and is made then", async () => {
  await using world = new BranchWorld();
  for (let index = 0; index < 12; index += 1) world.branch(`pr-${index}`);
  for (let index = 0; index < 12; index += 1) await world.until(`pr-${index}`, "Available");
  expect(world.made).toHaveLength(12);
});
