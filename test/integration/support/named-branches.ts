import { conditionOf } from "../../../src/operator/objects/conditions-of.ts";
import { SmallWorld } from "./small-world.ts";

export const [a, b, c] = ["br-0-a", "br-0-b", "br-0-c"];
export const spec = { projectID: "shop", scaleToZero: { enabled: false } };
export const named = (branchName: string, more: object = {}) => ({ ...spec, branchName, ...more });

/** The branch of this id gets this name. */
export function rename(world: SmallWorld, id: string, name: string): void {
  world.console("PATCH", `/projects/shop/branches/${id}`, { branch: { name } });
}

/** A world with the three branches. */
export const begin = () => new SmallWorld([a, b, c], 1);

export const ready = (world: SmallWorld, index = 0) => conditionOf(world.compute(index).status, "Ready");

export const branchesListed = (world: SmallWorld) =>
  world.host.calls.filter(({ path }) => path.endsWith("/branches")).length;

/** The branch that the endpoint of a Compute is on. */
export const branchOf = (world: SmallWorld, index = 0) =>
  world.endpoint(world.compute(index).status.endpointID).branch_id;

/** The service does not list branches, until the returned function is called. */
export function withoutBranches(world: SmallWorld, status = 503): () => void {
  const body = JSON.stringify({ code: "", message: "no branches today" });
  const headers = { "content-type": "application/json" };
  world.host.instead = ({ path }) => (path.endsWith("/branches") ? { status, headers, body } : undefined);
  return () => {
    world.host.instead = undefined;
  };
}

/** One Compute on the branch that is called main. */
export async function onMain(world: SmallWorld, more: object = {}): Promise<void> {
  rename(world, a, "main");
  world.declare(0, named("main", more));
  await world.settle(1);
}

/** The name main goes from branch a to branch b. */
export function hand(world: SmallWorld): void {
  rename(world, a, "old main");
  rename(world, b, "main");
}
