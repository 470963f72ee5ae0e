import { describe, expect, test } from "vitest";
import { NoResponseError } from "../../src/operator/service-client/transport.ts";
import { type ClusterWeather, calm } from "../simulation/api-server/faults.ts";
import { deadFor, handled, held, hour, isAlive, ofOne, ofTwo, resets, started } from "./support/rotating.ts";
import type { SmallWorld } from "./support/small-world.ts";

/** A process that dies at its nth effect since `begin`: before that takes effect, or after it without its answer. */
class Mortal {
  effects = 0;
  isDead = false;
  #dies: { at: number; isCarriedOut: boolean } | undefined;
  readonly weather: ClusterWeather;

  constructor() {
    this.weather = {
      ...calm,
      request: (request, timeoutMs) => {
        const isEffect = request.method !== "GET" && /secrets|computes/.test(request.path);
        const fate = this.#next(isEffect);
        if (fate === "lives") return calm.request(request, timeoutMs);
        return fate === "lost" ? { kind: "lost", arriveMs: 0, afterMs: 1 } : { kind: "refused", afterMs: 1 };
      },
    };
  }

  /** From now on effects count. */
  begin(world: SmallWorld, dies?: { at: number; isCarriedOut: boolean }): void {
    [this.effects, this.#dies] = [0, dies];
    const { network } = world;
    const send = network.send.bind(network);
    network.send = async (request, options) => {
      const fate = this.#next(true);
      if (fate === "refused") throw new NoResponseError("the process is dead");
      const answer = await send(request, options);
      if (fate === "lost") throw new NoResponseError("the process is dead");
      return answer;
    };
  }

  /** Another process takes over. */
  async replace(world: SmallWorld, meanwhile = () => {}): Promise<void> {
    await world.restart(() => {
      [this.isDead, this.#dies] = [false, undefined];
      meanwhile();
    });
  }

  #next(isEffect: boolean): "lives" | "lost" | "refused" {
    if (this.isDead) return "refused";
    if (!isEffect) return "lives";
    this.effects += 1;
    if (this.effects !== this.#dies?.at) return "lives";
    this.isDead = true;
    return this.#dies.isCarriedOut ? "lost" : "refused";
  }
}

/** The number of effects from the request of a rotation until it has ended. */
async function effectsOf(spec: typeof ofOne | typeof ofTwo): Promise<number> {
  const mortal = new Mortal();
  await using world = await started(spec, mortal.weather);
  mortal.begin(world);
  world.annotate(0, "passwordRotationAt", "one");
  await world.clock.advance(20_000);
  expect(handled(world)).toBe("one");
  return mortal.effects;
}

/** What is left of a rotation whose process died at that effect, and was replaced. */
async function afterDeath(
  spec: typeof ofOne | typeof ofTwo,
  dies: { at: number; isCarriedOut: boolean },
  meanwhile: (world: SmallWorld) => void,
) {
  const mortal = new Mortal();
  await using world = await started(spec, mortal.weather);
  const before = held(world).password;
  mortal.begin(world, dies);
  world.annotate(0, "passwordRotationAt", "one");
  const deadBefore = await deadFor(world, 20);
  await mortal.replace(world, () => meanwhile(world));
  const deadAfter = await deadFor(world, 180);
  const ended = { handled: handled(world), role: held(world).role, isAlive: isAlive(world) };
  const sent = resets(world);
  await world.clock.advance(2 * hour);
  const later = resets(world).length - sent.length;
  return { at: dies.at, ...ended, isOther: held(world).password !== before, deadBefore, deadAfter, sent, later };
}

describe.each([
  // Of two roles the one in the Secret always works; of one at most until the next process has read it.
  ["one role", ofOne, "app_a", 25],
  ["two roles", ofTwo, "app_b", 0],
])("a process that dies in a rotation with %s", (_, spec, role, longest) => {
  test.each([
    ["before", false, () => {}],
    ["after", true, () => {}],
    ["after, with the status wiped then", true, (world: SmallWorld) => world.wipeStatus(0)],
  ])(
    "a death %s any of its effects leaves no dead password for longer than a reading, and the request is carried out",
    async (_when, isCarriedOut, meanwhile) => {
      const count = await effectsOf(spec);
      expect(count).toBeGreaterThan(4);
      for (let at = 1; at <= count; at += 1) {
        const seen = await afterDeath(spec, { at, isCarriedOut }, meanwhile);
        expect(seen).toMatchObject({ at, handled: "one", role, isAlive: true, isOther: true, later: 0 });
        expect(Math.max(seen.deadBefore, seen.deadAfter)).toBeLessThanOrEqual(longest);
        expect(seen.sent.length).toBeLessThanOrEqual(2);
        expect(new Set(seen.sent)).toEqual(new Set([role]));
      }
    },
  );
});
