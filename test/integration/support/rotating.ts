import type { Logger } from "../../../src/operator/runtime/log.ts";
import type { Tracer } from "../../../src/operator/runtime/tracer.ts";
import type { ClusterWeather } from "../../simulation/api-server/faults.ts";
import { SmallWorld } from "./small-world.ts";
import type { Spec } from "./specs.ts";

export const branch = "br-0-a";
export const roles = `/projects/shop/branches/${branch}/roles`;
export const hour = 3_600_000;

const connectionSecret = { name: "shop-db", database: "neondb" };
const spec = { projectID: "shop", branchID: branch, scaleToZero: { enabled: false } };

/** Specs of a Compute whose Secret holds one role, or one of two. */
export const ofOne = { ...spec, connectionSecret: { ...connectionSecret, role: "app_a" } };
export const ofTwo = { ...spec, connectionSecret: { ...connectionSecret, roles: ["app_a", "app_b"] } };

/** The same with a rotation by age. */
export const every = (given: typeof ofOne | typeof ofTwo, age = "3h") => ({
  ...given,
  connectionSecret: { ...given.connectionSecret, rotation: { every: age } },
});

/** A branch with two roles, and a Compute that has settled. */
export async function started(
  given: Spec,
  weather?: ClusterWeather,
  service: object = {},
  { log, tracer }: { log?: Logger; tracer?: Tracer } = {},
): Promise<SmallWorld> {
  const world = new SmallWorld([branch], 1, service, weather, {}, () => tracer, log);
  for (const name of ["app_a", "app_b"]) {
    world.console("POST", roles, { role: { name } });
    await world.clock.advance(10_000);
  }
  world.declare(0, given);
  await world.settle(1);
  await world.clock.advance(10_000);
  return world;
}

/** The role and the password that a Secret holds, and the request that it says was carried out. */
export function held(world: SmallWorld, index = 0): { role: string; password: string } {
  const encoded = world.secretsOf(index)[0]?.["data"];
  const data: Record<string, string> = typeof encoded === "object" && encoded !== null ? { ...encoded } : {};
  const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
  return { role: text("username"), password: text("password") };
}

export const handled = (world: SmallWorld, index = 0): unknown =>
  world.secretsOf(index)[0]?.metadata.annotations?.["compute-operator.dev/password-rotation-handled"];

/** The password that the service takes now. */
export const inForce = (world: SmallWorld, role: string): string =>
  world.console("GET", `${roles}/${role}/reveal_password`).password;

/** True if an application can connect with what the Secret holds. */
export function isAlive(world: SmallWorld, index = 0): boolean {
  const { role, password } = held(world, index);
  return inForce(world, role) === password;
}

/** The roles whose passwords the operator has reset, in order. */
export const resets = (world: SmallWorld): (string | undefined)[] =>
  world.writes.filter((write) => write.endsWith("/reset_password")).map((write) => write.split("/").at(-2));

/** Lets time pass second by second; returns the longest time in which the Secret held a dead password, in seconds. */
export async function deadFor(world: SmallWorld, seconds: number): Promise<number> {
  let [longest, now] = [0, 0];
  for (let passed = 0; passed < seconds; passed += 1) {
    await world.clock.advance(1000);
    now = isAlive(world) ? 0 : now + 1;
    longest = Math.max(longest, now);
  }
  return longest;
}
