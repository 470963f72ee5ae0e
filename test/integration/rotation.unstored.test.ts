import { describe, expect, test } from "vitest";
import { NoResponseError } from "../../src/operator/service-client/transport.ts";
import { branch, every, held, hour, ofOne, ofTwo, resets, started } from "./support/rotating.ts";
import type { SmallWorld } from "./support/small-world.ts";
import type { Spec } from "./support/specs.ts";

const reset = `/projects/{project_id}/branches/{branch_id}/roles/{role_name}/reset_password`;
const sentKey = "compute-operator.dev/password-reset-sent";

describe("a service that stores no passwords", () => {
  /** Has the project store none, and the Secret hold what a first rotation was answered with. */
  async function unstored(spec: Spec) {
    const world = await started(spec);
    const { store } = world.host.service.context;
    const project = store.projects.get("shop");
    if (project === undefined) throw new Error("no project");
    const details = { ...project.details, store_passwords: false };
    store.projects.change("shop", { name: project.name, details }, world.clock.now());
    world.annotate(0, "passwordRotationAt", "first");
    await world.clock.advance(60_000);
    return world;
  }
  /** The password that the service takes now, although it shows none. */
  const taken = (world: Awaited<ReturnType<typeof unstored>>, role: string) => {
    const { catalog } = world.host.service.context;
    const found = catalog.role(branch, role);
    return found && catalog.passwordOf(found);
  };

  test.each([
    ["one role", ofOne, "app_a"],
    ["two roles", ofTwo, "app_b"],
  ])(
    "with %s, the Secret holds what the reset was answered with, and later readings leave it",
    async (_, spec, role) => {
      await using world = await unstored(spec);
      expect(held(world)).toEqual({ role, password: taken(world, role) });
      await world.clock.advance(3 * hour);
      expect(held(world)).toEqual({ role, password: taken(world, role) });
      await world.restart();
      await world.clock.advance(2 * hour);
      expect(held(world)).toEqual({ role, password: taken(world, role) });
      expect(resets(world)).toEqual([role]);
    },
  );

  test("a reset of the one role without an answer is sent again at once", async () => {
    await using world = await unstored(ofOne);
    world.host.service.setFaults([{ kind: "drop-after", method: "POST", route: reset, count: 1 }]);
    world.annotate(0, "passwordRotationAt", "second");
    await world.clock.advance(30_000);
    expect(held(world)).toEqual({ role: "app_a", password: taken(world, "app_a") });
    expect(resets(world)).toEqual(["app_a", "app_a", "app_a"]);
  });

  /** The service gets the next reset, and the process dies before the answer; `isCarriedOut` false: it does not. */
  function dyingAtReset(world: SmallWorld, isCarriedOut: boolean): void {
    const { network } = world;
    const send = network.send.bind(network);
    let isDead = false;
    network.send = async (request, options) => {
      const dies = !isDead && request.path.endsWith("/reset_password");
      if (isDead || (dies && !isCarriedOut)) {
        isDead = true;
        throw new NoResponseError("the process is dead");
      }
      const answer = await send(request, options);
      if (!dies) return answer;
      isDead = true;
      throw new NoResponseError("the process is dead");
    };
  }

  const windows = [{ from: "20:00", to: "21:00" }];
  const inWindows = { ...every(ofOne, "1h"), disruption: { windows } };
  const untilEvening = (world: SmallWorld) => {
    const today = Math.floor(world.clock.now() / (24 * hour)) * 24 * hour;
    return world.clock.advance((today + 20 * hour + 60_000 - world.clock.now() + 24 * hour) % (24 * hour));
  };
  const note = (world: SmallWorld) => world.secretsOf(0)[0]?.metadata.annotations?.[sentKey];

  test.each([
    ["carried out", true],
    ["not carried out", false],
  ])(
    "a reset of the one role, %s, whose process died is sent again by the next process at once, outside a window",
    async (_, isCarriedOut) => {
      await using world = await unstored(inWindows);
      dyingAtReset(world, isCarriedOut);
      await untilEvening(world);
      const before = resets(world).length;
      await world[Symbol.asyncDispose]();
      await world.clock.advance(2 * hour);
      expect(note(world)).toBeDefined();
      Reflect.deleteProperty(world.network, "send");
      await world.restart();
      await world.clock.advance(60_000);
      expect(held(world)).toEqual({ role: "app_a", password: taken(world, "app_a") });
      expect([resets(world).length - before, note(world)]).toEqual([1, undefined]);
      await world.clock.advance(2 * hour);
      expect(resets(world).length - before).toBe(1);
    },
  );

  test("a reset that the service refuses leaves no note: the next process waits for a window", async () => {
    await using world = await unstored(inWindows);
    world.host.service.setFaults([{ kind: "423", method: "POST", route: reset, count: 10_000 }]);
    await untilEvening(world);
    const before = resets(world).length;
    expect(before).toBeGreaterThan(1);
    expect(note(world)).toBeUndefined();
    await world[Symbol.asyncDispose]();
    await world.clock.advance(2 * hour);
    world.host.service.setFaults([]);
    await world.restart();
    await world.clock.advance(3 * hour);
    expect(resets(world).length).toBe(before);
  });
});
