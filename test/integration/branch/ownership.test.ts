import { describe, expect, it } from "vitest";
import { timestamp } from "../../../src/operator/objects/conditions-of.ts";
import { storedKeySecret } from "../support/manifests.ts";
import { BranchWorld, hour } from "./branches.ts";

const minute = 60_000;
const never = { never: true };
const noteOf = (uid: string, object: string, fleet?: string) => ({
  "compute-operator.dev/uid": uid,
  "compute-operator.dev/object": object,
  ...(fleet === undefined ? {} : { "compute-operator.dev/fleet": fleet }),
});

it("a name taken by another's branch is BranchExists, says who made it and when it ends, and is used at once when it is free", async () => {
  await using world = new BranchWorld();
  const expires_at = new Date(Math.ceil((world.clock.now() + hour) / 1000) * 1000).toISOString().replace(".000", "");
  const theirs = world.madeElsewhere("default/pr-1", { expires_at }, noteOf("other-uid", "shop/pr-1"));
  world.branch("pr-1");
  await world.until("pr-1", "BranchExists");
  expect(world.ready("pr-1")?.message).toContain("was created by Branch shop/pr-1 with uid other-uid");
  expect(world.ready("pr-1")?.message).toContain("it ends at");
  expect(world.writes).toEqual([]);
  world.drop("pr-1");
  expect(world.isDropped("pr-1")).toBe(true);
  world.branch("pr-1");
  await world.until("pr-1", "BranchExists");
  world.console("DELETE", `/projects/shop/branches/${theirs.id}`);
  await world.until("pr-1", "Available", minute);
  expect(world.made).toHaveLength(1);
});

it("a name taken by another's branch that ends within a day is a warning and counted for an alert, once and not before", async () => {
  await using world = new BranchWorld();
  const expires_at = timestamp(world.clock.now() + 26 * hour);
  world.madeElsewhere("default/pr-1", { expires_at });
  world.branch("pr-1", { expiry: { never: true } });
  await world.until("pr-1", "BranchExists");
  const soon = () => world.events("BranchExists").filter((message) => /then creates its own/.test(message));
  expect(world.object("pr-1").status.takenUntil).toBe(expires_at);
  await world.clock.advance(hour);
  expect(soon()).toEqual([]);
  expect(await world.metrics()).toMatch(/^compute_operator_branch_names_ending 0$/m);
  await world.clock.advance(3 * hour);
  expect(soon()).toEqual([expect.stringContaining(`ends at ${expires_at}`)]);
  expect(await world.metrics()).toMatch(/^compute_operator_branch_names_ending 1$/m);
  await world.clock.advance(23 * hour);
  expect(soon()).toHaveLength(1);
  expect(world.reason("pr-1")).toBe("Available");
  expect(world.object("pr-1").status.takenUntil).toBeUndefined();
  expect(await world.metrics()).toMatch(/^compute_operator_branch_names_ending 0$/m);
});

it("a name taken by a branch that is not listed is BranchExists after ten seconds, and tried again ever later", async () => {
  await using world = new BranchWorld();
  let posts = 0;
  world.host.instead = ({ method, path }) => {
    if (method !== "POST" || !path.endsWith("/branches")) return undefined;
    posts += 1;
    const message = 'branch already exists; branch_name:"default/pr-1"';
    return { status: 409, headers: {}, body: JSON.stringify({ code: "", message }) };
  };
  world.branch("pr-1");
  await world.clock.advance(5000);
  expect(world.reason("pr-1")).toBe("Creating");
  await world.until("pr-1", "BranchExists");
  await world.clock.advance(hour);
  expect(posts).toBeGreaterThan(2);
  expect(posts).toBeLessThan(10);
  world.host.instead = undefined;
  await world.until("pr-1", "Available", 2 * hour);
});

it("a name that falls free unlisted is used at once where a person requests a reconcile", async () => {
  await using world = new BranchWorld();
  world.host.instead = ({ method, path }) =>
    method === "POST" && path.endsWith("/branches")
      ? { status: 409, headers: {}, body: JSON.stringify({ code: "", message: "branch already exists" }) }
      : undefined;
  world.branch("pr-1");
  await world.clock.advance(hour);
  world.host.instead = undefined;
  await world.clock.advance(minute);
  expect(world.reason("pr-1")).toBe("BranchExists");
  world.mark("pr-1", { reconcileRequestedAt: "1" });
  await world.until("pr-1", "Available", minute);
});

it("a name taken by the Branch's own create, whose answer was lost, is linked and not made again", async () => {
  await using world = new BranchWorld();
  world.host.service.setFaults([{ method: "POST", route: "*", kind: "drop-after", count: 1 }]);
  world.branch("pr-1");
  await world.until("pr-1", "Available");
  expect(world.made).toHaveLength(1);
  expect(world.object("pr-1").status).toMatchObject({ appliedExpiry: "after 72h", branchID: world.made[0]?.id });
  expect(world.writes).toHaveLength(1);
  expect(world.events("Created")).toHaveLength(1);
});

it("a name that another object of the cluster has is a Conflict for the younger, which follows when the older goes", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1", { branchName: "one", parent: { branchName: "absent" } });
  await world.clock.advance(2000);
  world.branch("pr-2", { branchName: "one" });
  await world.until("pr-2", "Conflict");
  expect(world.writes).toEqual([]);
  world.drop("pr-1");
  await world.until("pr-2", "Available");
});

it("a name that another object has at another service, in a project of the same id, is no Conflict", async () => {
  await using world = new BranchWorld();
  world.services.connect("other.test");
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections";
  const { spec, ...first } = world.send("GET", `${path}/default`);
  const other = { ...spec, baseURL: "http://other.test/api/v2" };
  world.send("POST", path, { ...first, metadata: { name: "other" }, spec: other });
  world.branch("pr-1", { branchName: "one", parent: { branchName: "absent" } });
  await world.clock.advance(2000);
  world.branch("pr-2", { branchName: "one", connectionRef: { name: "other" } });
  await world.until("pr-2", "Available");
  expect(world.events("Conflict")).toEqual([]);
});

describe("a connection that reaches nothing, in another namespace", () => {
  const namespace = "/namespaces/mallory";
  const group = "/apis/compute-operator.dev/v1alpha1";
  const guess = (world: BranchWorld, apiKeySecretRef: object, spec: object) => {
    world.send("POST", "/api/v1/namespaces", { metadata: { name: "mallory" } });
    world.send("POST", `/api/v1${namespace}/secrets`, storedKeySecret("guessed-key", "guessed"));
    const connection = { baseURL: "http://service.test/api/v2", apiKeySecretRef };
    world.send("POST", `${group}${namespace}/serviceconnections`, { metadata: { name: "default" }, spec: connection });
    const body = { metadata: { name: "squat" }, spec: { projectID: "shop", expiry: never, ...spec } };
    world.send("POST", `${group}${namespace}/branches`, body);
  };

  it.each([
    ["key is guessed", { name: "guessed" }],
    ["key is not there", { name: "absent" }],
  ])("an older object keeps nobody from a branch where its %s", async (_, apiKeySecretRef) => {
    await using world = new BranchWorld();
    guess(world, apiKeySecretRef, { branchName: "default/pr-1" });
    await world.clock.advance(10_000);
    world.branch("pr-1");
    await world.until("pr-1", "Available");
    expect(world.writes).toHaveLength(1);
  });

  it("an older object with a guessed key keeps nobody from adopting a branch", async () => {
    await using world = new BranchWorld();
    const spec = { adopt: { branchID: "br-preview" }, expiry: never };
    guess(world, { name: "guessed" }, spec);
    await world.clock.advance(10_000);
    world.branch("pr-1", spec);
    await world.until("pr-1", "Available");
    expect(world.object("pr-1").status.proof?.by).toBe("adopted");
  });
});

describe("a branch that exists", () => {
  it("an existing branch is adopted by name or id, kept as it is, and let go with its object", async () => {
    await using world = new BranchWorld();
    const one = world.madeElsewhere("one");
    await world.clock.advance(2000);
    const two = world.madeElsewhere("two");
    world.branch("by-name", { branchName: "one", expiry: never, adopt: { byName: true } });
    world.branch("by-id", { expiry: never, adopt: { branchID: two.id } });
    await world.until("by-name", "Available");
    await world.until("by-id", "Available");
    expect(world.object("by-id").status).toMatchObject({
      branchID: two.id,
      proof: { by: "adopted" },
      deletionPolicy: "Retain",
    });
    expect(world.events("Adopted")).toHaveLength(2);
    world.branch("by-name", {
      branchName: "one",
      expiry: never,
      adopt: { byName: true },
      deletionPolicy: "Delete",
      protected: true,
    });
    await world.clock.advance(5000);
    expect(world.named("one")).toMatchObject({ id: one.id, protected: true });
    world.drop("by-name");
    world.drop("by-id");
    await world.untilDropped("by-name");
    await world.untilDropped("by-id");
    expect(world.made.map(({ name }) => name).toSorted()).toEqual(["one", "two"]);
    expect(world.writes).toHaveLength(1);
  });

  it("a branch is not adopted where an operator noted it, or where it does not exist", async () => {
    await using world = new BranchWorld();
    world.madeElsewhere("one", {}, noteOf("other-uid", "shop/one"));
    world.branch("one", { branchName: "one", expiry: never, adopt: { byName: true } });
    world.branch("none", { branchName: "none", expiry: never, adopt: { byName: true } });
    await world.until("one", "AdoptionRefused");
    await world.until("none", "AdoptionRefused");
    world.madeElsewhere("none");
    await world.until("none", "Available");
    expect(world.writes).toEqual([]);
  });

  it("a former cluster's branch is taken over by fleet, namespace and name with adopt.former, and deleted with its object", async () => {
    await using world = new BranchWorld({ settings: { fleet: "prod" } });
    const former = world.madeElsewhere("default/pr-1", {}, noteOf("gone-uid", "default/pr-1", "prod"));
    world.branch("pr-1", { adopt: { former: true } });
    await world.until("pr-1", "Available");
    expect(world.object("pr-1").status).toMatchObject({ branchID: former.id, proof: { by: "former" } });
    expect(world.msUntil(world.named("default/pr-1")?.expires_at)).toBeGreaterThan(71 * hour);
    world.drop("pr-1");
    await world.untilDropped("pr-1");
    expect(world.made).toEqual([]);
  });

  it.each([
    ["of another fleet", "default/pr-1", "staging"],
    ["of another object", "default/pr-2", "prod"],
  ])("%s is not taken over", async (_, object, fleet) => {
    await using world = new BranchWorld({ settings: { fleet: "prod" } });
    world.madeElsewhere("default/pr-1", {}, noteOf("gone-uid", object, fleet));
    world.branch("pr-1", { adopt: { former: true } });
    await world.until("pr-1", "BranchExists");
    expect(world.writes).toEqual([]);
  });

  it("a branch is not taken over from a Branch that lives", async () => {
    await using world = new BranchWorld({ settings: { fleet: "prod" } });
    world.branch("pr-2", { parent: { branchName: "absent" } });
    const { uid } = world.object("pr-2").metadata;
    world.madeElsewhere("default/pr-1", {}, noteOf(uid, "default/pr-1", "prod"));
    world.branch("pr-1", { adopt: { former: true } });
    await world.until("pr-1", "BranchExists");
    expect(world.object("pr-1").status.branchID).toBeUndefined();
  });

  it("a branch that somebody renames stays linked by its id and is Drifted", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1");
    await world.until("pr-1", "Available");
    const id = world.named("default/pr-1")?.id;
    world.console("PATCH", `/projects/shop/branches/${id}`, { branch: { name: "renamed" } });
    await world.until("pr-1", "Drifted");
    await world.clock.advance(hour);
    expect(world.writes).toHaveLength(1);
    world.drop("pr-1");
    await world.untilDropped("pr-1");
    expect(world.made).toEqual([]);
  });

  it("a branch is found again by its note where status and finalizer were lost", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1");
    await world.until("pr-1", "Available");
    const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/branches/pr-1";
    world.send("PUT", `${path}/status`, { ...world.send("GET", path), status: {} });
    const bare = world.send("GET", path);
    world.send("PUT", path, { ...bare, metadata: { ...bare.metadata, finalizers: [] } });
    await world.clock.advance(minute);
    expect(world.reason("pr-1")).toBe("Available");
    expect(world.object("pr-1").metadata.finalizers).toEqual(["compute-operator.dev/branch"]);
    expect(world.writes).toHaveLength(1);
  });
});
