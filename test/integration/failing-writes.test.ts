import { describe, expect, it } from "vitest";
import { conditionOf } from "../../src/operator/objects/conditions-of.ts";
import { NoResponseError } from "../../src/operator/service-client/transport.ts";
import { refusal } from "../support/scripted-service.ts";
import { SmallWorld } from "./support/small-world.ts";

const count = 8;
const hour = 3_600_000;
const numbers = Array.from({ length: count }, (_, n) => n);

/** Settled Computes in one project, whose service then answers every write so. */
async function failing(answer: () => ReturnType<typeof refusal>) {
  const world = new SmallWorld(["br-one"], 1);
  for (const n of numbers) {
    world.declare(n, { projectID: "shop", branchID: "br-one", type: "read_only", computeUnits: { min: 1, max: 1 } });
  }
  await world.settle(count);
  await world.clock.advance(60_000);
  const send = world.network.send.bind(world.network);
  /** When each write was tried. */
  const tries: number[] = [];
  world.network.send = async (request, options) => {
    if (request.method === "GET") return send(request, options);
    tries.push(world.clock.monotonic());
    return answer();
  };
  return { world, tries };
}

function unanswered(): never {
  throw new NoResponseError("ECONNRESET");
}

describe("while every write fails, Computes that wait for each other in one project", () => {
  it.each<[string, string, () => ReturnType<typeof refusal>]>([
    ["HTTP 500", "ServiceUnavailable", () => refusal(500)],
    ["HTTP 429", "RateLimited", () => refusal(429)],
    ["no answer", "ServiceUnavailable", unanswered],
  ])("write no status and no event once each has said why: %s", async (_name, reason, answer) => {
    const { world, tries } = await failing(answer);
    await using _ = world;
    for (const n of numbers) {
      if (n % 2 === 0) world.edit(n, { computeUnits: { min: 2, max: 2 } });
      else world.remove(n);
    }
    await world.clock.advance(hour / 2);
    const reasons = numbers.map((n) => conditionOf(world.compute(n).status, "Ready")?.reason);
    expect(new Set(reasons)).toEqual(new Set([reason]));
    const before = world.versions;
    tries.length = 0;
    await world.clock.advance(hour);
    expect(world.versions).toEqual(before);
    // Each is tried about once a minute, and not all of them in one second.
    expect(tries.length).toBeGreaterThan(count * 50);
    expect(tries.length).toBeLessThan(count * 90);
    const seconds = new Set(tries.map((at) => Math.floor(at / 1000)));
    expect(seconds.size).toBeGreaterThan(tries.length / 2);
  });
});
