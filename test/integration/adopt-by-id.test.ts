import { expect, it } from "vitest";
import { said } from "./conditions/conditions.ts";
import { SmallWorld } from "./support/small-world.ts";

const branchID = "br-0-a";

it("an endpoint that adopt names and that is missing is refused, and the branch's free primary is left alone", async () => {
  await using world = new SmallWorld([branchID], 1);
  const free = { branch_id: branchID, type: "read_write", autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1 };
  const { endpoint } = world.console("POST", "/projects/shop/endpoints", { endpoint: free });
  const spec = { projectID: "shop", branchID, computeUnits: { min: 2, max: 2 }, adopt: { endpointID: "ep-missing" } };
  world.declare(0, spec);
  await world.clock.advance(600_000);
  const { status, metadata } = world.compute(0);
  expect(said(world.compute(0))).toContain("ep-missing");
  expect(status.conditions?.find(({ type }) => type === "Ready")?.reason).toBe("AdoptionRefused");
  expect([status.endpointID, metadata.annotations?.["compute-operator.dev/endpoint-id"]]).toEqual([
    undefined,
    undefined,
  ]);
  expect(world.writes).toEqual([]);
  world.remove(0);
  await world.clock.advance(60_000);
  expect([world.isGone(0), world.endpoint(endpoint.id).id]).toEqual([true, endpoint.id]);
  expect(world.writes).toEqual([]);
});
