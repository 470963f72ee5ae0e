import { describe, expect, it } from "vitest";
import type { Compute } from "../../src/operator/resources/compute.ts";
import { storedKeySecret } from "./support/manifests.ts";
import { goodKey } from "./support/seeded-service.ts";
import { SmallWorld } from "./support/small-world.ts";

const branchID = "br-0-a";
const other = "br-1-a";
const replica = { projectID: "shop", branchID, type: "read_only" };
const primary = { projectID: "shop", branchID };
const size = (cu: number) => ({ computeUnits: { min: cu, max: cu } });

/** What a person does 500 ms after a request of the operator was carried out, 2.5 s before its answer arrives. */
function inTheMiddle(world: SmallWorld, method: string, act: () => void): { happened: () => boolean } {
  const send = world.network.send.bind(world.network);
  let happened = false;
  const pass = (ms: number) => new Promise<void>((resolve) => void world.clock.after(ms, resolve));
  world.network.send = async (request, options) => {
    const answer = await send(request, options);
    if (happened || request.method !== method) return answer;
    happened = true;
    await pass(500);
    act();
    await pass(2500);
    return answer;
  };
  return { happened: () => happened };
}

function reasonOf({ status }: Compute): string | undefined {
  return status.conditions?.find(({ type }) => type === "Ready")?.reason;
}

const count = (world: SmallWorld, method: string) => world.writes.filter((write) => write.startsWith(method)).length;

describe.each([
  { names: "shown", strictSpec: false },
  { names: "hidden", strictSpec: true },
])("while a create is on its way (names $names), a person", ({ strictSpec }) => {
  const begin = (spec: Record<string, unknown>, act: (world: SmallWorld) => void) => {
    const world = new SmallWorld([branchID, other], 1, { strictSpec });
    const middle = inTheMiddle(world, "POST", () => act(world));
    world.declare(0, spec);
    return { world, middle };
  };

  it.each([primary, replica])(
    "pauses the Compute: its endpoint is linked all the same, and no other is made",
    async (spec) => {
      const { world, middle } = begin(spec, (one) => one.annotate(0, "paused", "true"));
      await using _ = world;
      await world.clock.advance(180_000);
      expect(middle.happened()).toBe(true);
      const [made] = world.endpoints;
      expect([world.endpoints.length, world.compute(0).status.endpointID]).toEqual([1, made?.id]);
      world.annotate(0, "paused", undefined);
      await world.settle(1);
      expect([count(world, "POST"), world.endpoints.length]).toEqual([1, 1]);
    },
  );

  it.each([primary, replica])("deletes the Compute: its endpoint goes with it", async (spec) => {
    const { world, middle } = begin(spec, (one) => one.remove(0));
    await using _ = world;
    await world.clock.advance(300_000);
    expect(middle.happened()).toBe(true);
    expect([world.isGone(0), world.endpoints, count(world, "POST")]).toEqual([true, [], 1]);
  });

  it.each([primary, replica, { ...primary, driftPolicy: "Report" }])(
    "asks for another size: what was made gets it by one change",
    async (spec) => {
      const { world, middle } = begin({ ...spec, ...size(1) }, (one) => one.edit(0, size(2)));
      await using _ = world;
      await world.clock.advance(5000);
      await world.settle(1);
      expect(middle.happened()).toBe(true);
      expect([count(world, "POST"), count(world, "PATCH")]).toEqual([1, 1]);
      expect(world.endpoint(world.compute(0).status.endpointID).autoscaling_limit_max_cu).toBe(2);
    },
  );

  it("puts a wrong key into the Secret, and later the right one: one endpoint is made, and linked", async () => {
    const secret = "/api/v1/namespaces/default/secrets/service-api-key";
    const put = (world: SmallWorld, key: string) => {
      const { metadata } = world.send("GET", secret);
      world.send("PUT", secret, { ...storedKeySecret(key), metadata });
    };
    const { world, middle } = begin(primary, (one) => put(one, "wrong"));
    await using _ = world;
    await world.clock.advance(60_000);
    expect([middle.happened(), reasonOf(world.compute(0))]).toEqual([true, "Unauthorized"]);
    put(world, goodKey);
    await world.clock.advance(10_000);
    await world.settle(1);
    expect([count(world, "POST"), world.endpoints.length]).toEqual([1, 1]);
  });
});

describe("while a create is on its way, a person", () => {
  it("deletes the Compute and declares another of its name: each has an endpoint of its own, and one stays", async () => {
    await using world = new SmallWorld([branchID, other], 1);
    inTheMiddle(world, "POST", () => world.remove(0));
    world.declare(0, replica);
    const first = world.compute(0).metadata.uid;
    await world.clock.advance(5000);
    for (let waited = 0; !world.isGone(0) && waited < 300; waited++) await world.clock.advance(1000);
    world.declare(0, replica);
    await world.settle(1);
    const { uid } = world.compute(0).metadata;
    expect(uid).not.toBe(first);
    expect(world.endpoints.map(({ name }) => name)).toEqual([`k8s-${uid}`]);
  });
});

describe("while a change is on its way, a person", () => {
  it("edits the spec twice more: the last is what the service has in the end", async () => {
    await using world = new SmallWorld([branchID, other], 1);
    world.declare(0, { ...primary, ...size(1) });
    await world.settle(1);
    const middle = inTheMiddle(world, "PATCH", () => {
      world.edit(0, size(4));
      world.edit(0, size(3));
    });
    world.edit(0, size(2));
    await world.clock.advance(5000);
    await world.settle(1);
    expect(middle.happened()).toBe(true);
    expect(world.endpoint(world.compute(0).status.endpointID).autoscaling_limit_max_cu).toBe(3);
    expect(count(world, "PATCH")).toBe(2);
  });

  it("takes it back: the endpoint is as it was, and nothing is left to do", async () => {
    await using world = new SmallWorld([branchID, other], 1);
    world.declare(0, { ...primary, ...size(1) });
    await world.settle(1);
    inTheMiddle(world, "PATCH", () => world.edit(0, size(1)));
    world.edit(0, size(2));
    await world.clock.advance(5000);
    await world.settle(1);
    await world.clock.advance(120_000);
    expect(world.endpoint(world.compute(0).status.endpointID).autoscaling_limit_max_cu).toBe(1);
    expect(count(world, "PATCH")).toBe(2);
  });

  it("deletes the Compute: the endpoint goes once, and the change is not sent again", async () => {
    await using world = new SmallWorld([branchID, other], 1);
    world.declare(0, { ...primary, ...size(1) });
    await world.settle(1);
    inTheMiddle(world, "PATCH", () => world.remove(0));
    world.edit(0, size(2));
    await world.clock.advance(120_000);
    expect([world.isGone(0), world.endpoints, count(world, "PATCH"), count(world, "DELETE")]).toEqual([true, [], 1, 1]);
  });

  it("changes the endpoint in the console: the spec wins, and the correction is counted", async () => {
    await using world = new SmallWorld([branchID, other], 1);
    world.declare(0, { ...primary, ...size(1) });
    await world.settle(1);
    const { endpointID } = world.compute(0).status;
    inTheMiddle(world, "PATCH", () =>
      world.console("PATCH", `/projects/shop/endpoints/${endpointID}`, {
        endpoint: { autoscaling_limit_min_cu: 0.5, autoscaling_limit_max_cu: 0.5 },
      }),
    );
    world.edit(0, size(2));
    await world.clock.advance(120_000);
    expect(world.endpoint(endpointID).autoscaling_limit_max_cu).toBe(2);
    expect(await world.metrics()).toContain('compute_operator_drift_corrections_total{namespace="default"} 1');
  });
});

describe("while a deletion is on its way, a person", () => {
  it("sets deletionPolicy to Retain: the endpoint was deleted, and the Compute goes without a second request", async () => {
    await using world = new SmallWorld([branchID, other], 1);
    world.declare(0, replica);
    await world.settle(1);
    const middle = inTheMiddle(world, "DELETE", () => world.edit(0, { deletionPolicy: "Retain" }));
    world.remove(0);
    await world.clock.advance(120_000);
    expect(middle.happened()).toBe(true);
    expect([world.isGone(0), world.endpoints, count(world, "DELETE")]).toEqual([true, [], 1]);
  });

  it("creates an endpoint on the branch: that is a stranger's, and stays", async () => {
    await using world = new SmallWorld([branchID, other], 1);
    world.declare(0, replica);
    await world.settle(1);
    let stranger: string | undefined;
    const create = { endpoint: { branch_id: other, type: "read_only" } };
    inTheMiddle(world, "DELETE", () => {
      world.clock.after(1500, () => {
        stranger = world.console("POST", "/projects/shop/endpoints", create).endpoint.id;
      });
    });
    world.remove(0);
    await world.clock.advance(120_000);
    expect(stranger).toBeDefined();
    expect([world.isGone(0), world.endpoints.map(({ id }) => id)]).toEqual([true, [stranger]]);
  });
});
