import { describe, expect, it } from "vitest";
import { shownReason } from "../../../src/operator/objects/conditions-of.ts";
import { BranchWorld } from "./branches.ts";

const minute = 60_000;
const computes = "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes";
const onBranch = { projectID: "shop", branchRef: { name: "pr-1" } };
const never = { never: true };

const reasonOf = (world: BranchWorld, index = 0) => shownReason(world.compute(index));
const owned = (world: BranchWorld, name: string) => world.server.handle({ method: "GET", path: `${computes}/${name}` });

/** A Compute that stands on Branch pr-1 and names pr-2, which has no branch until `absent` is there; its endpoint. */
async function toldToMove(world: BranchWorld): Promise<string | undefined> {
  world.branch("pr-1");
  world.declare(0, onBranch);
  await world.settle(1);
  const { endpointID } = world.compute(0).status;
  world.branch("pr-2", { parent: { branchName: "absent" } });
  world.declare(0, { ...onBranch, branchRef: { name: "pr-2" } });
  return endpointID;
}

describe("a Compute with branchRef", () => {
  it("waits until the Branch is there and ready, and is made on its branch", async () => {
    await using world = new BranchWorld();
    world.declare(0, onBranch);
    await world.clock.advance(5000);
    expect(reasonOf(world)).toBe("BranchNotReady");
    world.branch("pr-1");
    await world.settle(1);
    expect(world.endpoints).toMatchObject([{ branch_id: world.named("default/pr-1")?.id }]);
    expect(world.compute(0).status.resolvedBranch?.id).toBe(world.named("default/pr-1")?.id);
  });

  it("a Compute with branchRef is a Conflict where the Branch is of another project", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { projectID: "other" });
    world.declare(0, onBranch);
    await world.clock.advance(10_000);
    expect(reasonOf(world)).toBe("Conflict");
    expect(world.endpoints).toEqual([]);
  });

  it("moves when it names another Branch, and not before that is ready", async () => {
    await using world = new BranchWorld();
    const endpointID = await toldToMove(world);
    await world.clock.advance(minute);
    expect(reasonOf(world)).toBe("BranchNotReady");
    expect(world.endpoint(endpointID).branch_id).toBe(world.named("default/pr-1")?.id);
    world.madeElsewhere("absent");
    await world.settle(1);
    expect(world.endpoint(endpointID).branch_id).toBe(world.named("default/pr-2")?.id);
  });

  it("a Compute whose endpoint is on another branch is not Expired when it comes to name a Branch that has ended", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { after: "10m" } });
    world.declare(0, { projectID: "shop", branchID: "br-preview" });
    await world.settle(1);
    await world.until("pr-1", "Expired", 15 * minute);
    world.declare(0, onBranch);
    await world.clock.advance(10_000);
    expect(reasonOf(world)).toBe("BranchNotReady");
    expect(world.compute(0).status.conditions?.[0]?.message).toContain("so the endpoint stays on branch br-preview");
    expect(world.endpoints).toMatchObject([{ branch_id: "br-preview" }]);
    expect(world.events("Expired")).toHaveLength(1);
  });

  it("a Compute is Expired when its Branch has ended, and is made on the Branch's new one after resetAt", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { after: "10m" } });
    world.declare(0, onBranch);
    await world.settle(1);
    const before = world.compute(0).status.endpointID;
    await world.clock.advance(15 * minute);
    expect(world.reason("pr-1")).toBe("Expired");
    const { conditions = [], state, observedGeneration } = world.compute(0).status;
    expect(conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
      "Expired True Expired",
      "Synced True Expired",
    ]);
    expect([state, observedGeneration]).toEqual(["NotCreated", world.compute(0).metadata.generation]);
    expect(world.object("pr-1").status.conditions?.map(({ type, status }) => `${type} ${status}`)).toEqual([
      "Expired True",
      "Synced True",
    ]);
    expect([...world.events("MassLoss"), ...world.events("BranchNotFound")]).toEqual([]);
    expect(world.events("Expired")).toHaveLength(2);
    world.mark("pr-1", { resetAt: "1" });
    await world.settle(1);
    expect(world.compute(0).status.endpointID).not.toBe(before);
    expect(world.endpoints).toMatchObject([{ branch_id: world.named("default/pr-1")?.id }]);
  });

  it("the Computes of forty Branches that end at once are no MassLoss, also when all are made again", async () => {
    await using world = new BranchWorld();
    const at = new Date(world.clock.now() + 20 * minute).toISOString();
    for (let index = 0; index < 40; index += 1) {
      world.branch(`pr-${index}`, { expiry: { at } });
      world.declare(index, { ...onBranch, branchRef: { name: `pr-${index}` } });
    }
    await world.settle(40);
    await world.clock.advance(25 * minute);
    const reasons = Array.from({ length: 40 }, (_, index) => reasonOf(world, index));
    expect(new Set(reasons)).toEqual(new Set(["Expired"]));
    const writes = world.writes.length;
    await world.clock.advance(10 * minute);
    expect(world.writes).toHaveLength(writes);
    for (let index = 0; index < 40; index += 1) world.branch(`pr-${index}`, { expiry: never });
    await world.settle(40);
    expect(world.events("MassLoss")).toEqual([]);
    expect(world.endpoints).toHaveLength(40);
  });

  it("keeps its Branch from being deleted with InUse, until it goes", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1");
    world.declare(0, onBranch);
    await world.settle(1);
    world.drop("pr-1");
    await world.until("pr-1", "InUse");
    expect(world.ready("pr-1")?.message).toContain("db-0");
    await world.clock.advance(10 * minute);
    expect(world.made).toHaveLength(1);
    world.remove(0);
    await world.untilDropped("pr-1");
    expect(world.made).toEqual([]);
    expect(world.endpoints).toEqual([]);
  });

  it("keeps its Branch from being deleted while its endpoint still has to move to another", async () => {
    await using world = new BranchWorld();
    const endpointID = await toldToMove(world);
    world.drop("pr-1");
    await world.until("pr-1", "InUse");
    expect(world.ready("pr-1")?.message).toContain("db-0");
    await world.clock.advance(minute);
    world.madeElsewhere("absent");
    await world.untilDropped("pr-1");
    expect(world.endpoint(endpointID).branch_id).toBe(world.named("default/pr-2")?.id);
    expect(world.compute(0).status.endpointID).toBe(endpointID);
  });

  it("a branchRef in a pool's template holds for each member", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1");
    await world.until("pr-1", "Available");
    world.send("POST", computes.replace("computes", "computepools"), {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ComputePool",
      metadata: { name: "readers" },
      spec: { replicas: 2, template: onBranch },
    });
    await world.clock.advance(minute);
    const branch_id = world.named("default/pr-1")?.id;
    expect(world.endpoints).toMatchObject([{ branch_id }, { branch_id }]);
  });
});

describe("the compute of a Branch", () => {
  const compute = { computeUnits: { min: 0.25, max: 1 } };

  it("the compute of a Branch is made on the branch, follows the spec, and goes after the branch with the object", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { compute });
    await world.clock.advance(minute);
    const made = owned(world, "pr-1").body;
    expect(made).toMatchObject({
      metadata: { ownerReferences: [{ kind: "Branch", name: "pr-1", controller: true }] },
      spec: { projectID: "shop", branchRef: { name: "pr-1" }, computeUnits: { min: 0.25, max: 1 } },
      status: { branchID: world.named("default/pr-1")?.id },
    });
    expect(world.writes).toEqual(["POST /projects/shop/branches", "POST /projects/shop/endpoints"]);
    world.branch("pr-1", { compute: { computeUnits: { min: 1, max: 2 } } });
    await world.clock.advance(minute);
    expect(world.endpoints).toMatchObject([{ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 }]);
    const before = world.writes.length;
    world.drop("pr-1");
    await world.untilDropped("pr-1");
    await world.clock.advance(2 * minute);
    expect(world.writes[before]).toMatch(/^DELETE \/projects\/shop\/branches/);
    expect(owned(world, "pr-1").status).toBe(404);
    expect([world.made, world.endpoints]).toEqual([[], []]);
  });

  it("a compute that is taken out of the Branch's spec is deleted, and the branch stays", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { compute });
    await world.clock.advance(minute);
    world.branch("pr-1");
    await world.clock.advance(2 * minute);
    expect(owned(world, "pr-1").status).toBe(404);
    expect(world.endpoints).toEqual([]);
    expect(world.made).toHaveLength(1);
  });

  it("a compute that is taken out of a Branch which has ended is deleted too", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { after: "10m" }, compute });
    await world.clock.advance(15 * minute);
    expect([world.reason("pr-1"), owned(world, "pr-1").status]).toEqual(["Expired", 200]);
    world.branch("pr-1", { expiry: { after: "10m" } });
    await world.clock.advance(5 * minute);
    expect([world.reason("pr-1"), owned(world, "pr-1").status]).toEqual(["Expired", 404]);
  });

  it("a Branch's compute is a Conflict where a Compute of that name is not owned, which stays as it is", async () => {
    await using world = new BranchWorld();
    world.declare(0, { projectID: "shop", branchID: "br-main" });
    await world.settle(1);
    world.branch("db-0", { compute });
    await world.until("db-0", "Conflict");
    world.drop("db-0");
    await world.untilDropped("db-0");
    await world.clock.advance(minute);
    expect(world.isGone(0)).toBe(false);
    expect(world.endpoints).toHaveLength(1);
  });

  it("a compute whose change the API server refuses is tried ever more rarely, and its Branch says what to change", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { compute });
    await world.clock.advance(minute);
    let patches = 0;
    const handle = world.server.handle.bind(world.server);
    // The rule of the CRD of Computes, which the API server in memory does not evaluate.
    world.server.handle = (request, ...more) => {
      const isChange = request.method === "PATCH" && request.path === `${computes}/pr-1`;
      if (!isChange || !JSON.stringify(request.body).includes("read_only")) return handle(request, ...more);
      patches += 1;
      const message = 'Compute "pr-1" is invalid: spec.type: Invalid value: "read_only": type is immutable';
      const details = { name: "pr-1", group: "compute-operator.dev", kind: "Compute" };
      const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason: "Invalid" };
      return { status: 422, body: { ...status, code: 422, message, details } };
    };
    world.branch("pr-1", { compute: { ...compute, type: "read_only" } });
    await world.clock.advance(20 * minute);
    expect(world.reason("pr-1")).toBe("Rejected");
    expect(world.ready("pr-1")?.message).toMatch(/refused Compute "pr-1".*type is immutable.*Change spec.compute/);
    expect(patches).toBeLessThan(6);
    world.branch("pr-1", { compute });
    await world.until("pr-1", "Available", 5000);
  });

  const edit = (world: BranchWorld, fields: object) => {
    const object = world.send("GET", `${computes}/pr-1`);
    world.send("PUT", `${computes}/pr-1`, { ...object, spec: { ...object.spec, ...fields } });
  };

  it.each([
    ["a state", { disabled: true }],
    ["a size", { computeUnits: { min: 4, max: 8 } }],
    ["a branch", { branchRef: undefined, branchID: "br-main" }],
    ["a connection Secret", { connectionSecret: { name: "other" } }],
  ])("a direct edit of %s of a Branch's compute is put back before anything is sent", async (_, fields) => {
    await using world = new BranchWorld();
    world.branch("pr-1", { compute: { ...compute, connectionSecret: { name: "pr-1-db" } } });
    await world.clock.advance(2 * minute);
    const before = world.writes.length;
    const { spec } = world.send("GET", `${computes}/pr-1`);
    edit(world, fields);
    await world.clock.advance(2 * minute);
    expect(world.writes.slice(before)).toEqual([]);
    expect(owned(world, "pr-1").body).toMatchObject({ spec });
    const secrets = "/api/v1/namespaces/default/secrets";
    expect(world.server.handle({ method: "GET", path: `${secrets}/pr-1-db` }).status).toBe(200);
    expect(world.server.handle({ method: "GET", path: `${secrets}/other` }).status).toBe(404);
  });

  it("a direct edit of the compute of a paused Branch is carried out, and put back when the pause ends", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { compute: { ...compute, disabled: false } });
    await world.clock.advance(2 * minute);
    world.mark("pr-1", { paused: "true" });
    await world.until("pr-1", "Paused");
    edit(world, { disabled: true });
    await world.clock.advance(minute);
    expect(world.endpoints).toMatchObject([{ disabled: true }]);
    world.mark("pr-1", { paused: "false" });
    await world.clock.advance(minute);
    expect(world.endpoints).toMatchObject([{ disabled: false }]);
  });

  it("a changed compute of a Branch is one write", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { compute });
    await world.clock.advance(2 * minute);
    const before = world.writes.length;
    world.branch("pr-1", { compute: { computeUnits: { min: 2, max: 2 }, scaleToZero: { enabled: false } } });
    await world.clock.advance(2 * minute);
    expect(world.writes.slice(before)).toEqual([expect.stringMatching(/^PATCH /)]);
  });

  it("inherits Retain: branch and endpoint stay", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { compute, deletionPolicy: "Retain" });
    await world.clock.advance(minute);
    world.drop("pr-1");
    await world.untilDropped("pr-1");
    await world.clock.advance(2 * minute);
    expect(owned(world, "pr-1").status).toBe(404);
    expect([world.made.length, world.endpoints.length]).toEqual([1, 1]);
  });

  it.each<[string, (world: BranchWorld, retain: () => void) => Promise<void>]>([
    [
      "while the service is not reached",
      async (world, retain) => {
        world.host.service.setFaults([{ method: "*", route: "*", kind: "503", rate: 1 }]);
        world.drop("pr-1");
        await world.clock.advance(minute);
        retain();
        await world.untilDropped("pr-1");
        world.host.service.setFaults([]);
      },
    ],
    [
      "while no operator runs",
      (world, retain) =>
        world.restart(() => {
          retain();
          world.drop("pr-1");
        }),
    ],
  ])("the compute of a Branch inherits Retain that is set on a deletion %s", async (_, deletes) => {
    await using world = new BranchWorld();
    world.branch("pr-1", { compute });
    await world.clock.advance(minute);
    await deletes(world, () => world.branch("pr-1", { compute, deletionPolicy: "Retain" }));
    await world.untilDropped("pr-1");
    await world.clock.advance(5 * minute);
    expect(owned(world, "pr-1").status).toBe(404);
    expect([world.made.length, world.endpoints.length]).toEqual([1, 1]);
  });

  it("the compute of a Branch inherits Retain that is set while the brake holds the deletion", async () => {
    await using world = new BranchWorld({ settings: { maxBranchDeletesPerMinute: 1 } });
    for (const name of ["pr-1", "pr-2", "pr-3"]) world.branch(name, { compute });
    await world.clock.advance(minute);
    for (const name of ["pr-1", "pr-2", "pr-3"]) world.drop(name);
    await world.clock.advance(5000);
    for (const { name } of world.made) {
      world.branch(name.slice("default/".length), { compute, deletionPolicy: "Retain" });
    }
    await world.clock.advance(5 * minute);
    expect([world.made.length, world.endpoints.length]).toEqual([2, 2]);
  });

  it("a Branch's compute is kept with its branch when the definition of Branches is deleted", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { compute });
    await world.clock.advance(minute);
    const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/branches.compute-operator.dev";
    world.send("DELETE", crd);
    await world.clock.advance(minute);
    // The garbage collector deletes what a Branch owned.
    if (owned(world, "pr-1").status !== 404) world.send("DELETE", `${computes}/pr-1`);
    await world.clock.advance(2 * minute);
    expect(owned(world, "pr-1").status).toBe(404);
    expect(world.writes.filter((write) => write.startsWith("DELETE"))).toEqual([]);
  });
});
