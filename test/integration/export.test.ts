import { expect, it } from "vitest";
import type { Endpoint } from "../../src/api/endpoint.ts";
import { manifestOf } from "../../src/cli/manifests/manifest-of.ts";
import { SmallWorld } from "./support/small-world.ts";
import type { Spec } from "./support/specs.ts";

/** The spec that `export` writes for an endpoint. */
function exported(endpoint: Endpoint): Spec {
  const made = manifestOf(endpoint, { namespace: "default", connection: "default" });
  if ("problem" in made) throw new Error(made.problem);
  return { ...made.manifest.spec };
}

it("what export writes for all that exists changes nothing when it is applied, and nothing when it is deleted again", async () => {
  const branches = ["br-a", "br-b"];
  await using world = new SmallWorld(branches, 1);
  const bodies = [
    { branch_id: "br-a", type: "read_write", autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 2 },
    { branch_id: "br-a", type: "read_only", suspend_timeout_seconds: -1 },
    { branch_id: "br-a", type: "read_only", disabled: true, settings: { pg_settings: { work_mem: "8MB" } } },
    { branch_id: "br-b", type: "read_write", suspend_timeout_seconds: 5400, passwordless_access: false },
  ];
  for (const endpoint of bodies) {
    world.console("POST", "/projects/shop/endpoints", { endpoint });
    await world.clock.advance(10_000);
  }
  await world.clock.advance(60_000);
  const before = world.endpoints;
  const specs = before.map(exported);
  for (const [index, spec] of specs.entries()) world.declare(index, spec);
  await world.settle(specs.length);
  await world.clock.advance(120_000);
  expect(specs.map((_, index) => world.compute(index).status.endpointID)).toEqual(before.map(({ id }) => id));
  for (const index of specs.keys()) world.remove(index);
  await world.clock.advance(60_000);
  expect([...specs.keys()].filter((index) => !world.isGone(index))).toEqual([]);
  expect(world.writes).toEqual([]);
  expect(world.endpoints).toEqual(before);
});
