import { expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";
import { branchesOf, notMet, type Spec, secretFound, secretWanted, specPairs } from "./support/specs.ts";

const pairsInAll = 900;
const perRun = 100;
const seed = 20_260_105;

/** What does not show in twenty reconciles shows in a hundred of some. */
const roundsOf = (part: number) => (part === 0 ? 100 : 20);

it.each(Array.from({ length: pairsInAll / perRun }, (_, part) => [roundsOf(part), part] as const))(
  "from any valid spec to any other: 100 Computes settle, and nothing is written in %i more refreshes and reconciles of each (part %i of 9)",
  async (rounds, part) => {
    const pairs = specPairs(perRun, seed + 10_000 * (part + 1));
    await using world = new SmallWorld(
      pairs.flatMap((_, index) => branchesOf(index)),
      seed,
    );
    for (const [index, { from }] of pairs.entries()) world.declare(index, from);
    await world.settle(pairs.length);
    const ids = pairs.map((_, index) => world.compute(index).status.endpointID);
    for (const [index, { from }] of pairs.entries()) if (drifts(from)) await drift(world, index, from);
    await world.clock.advance(60_000);
    for (const [index, { to }] of pairs.entries()) world.declare(index, to);
    await world.settle(pairs.length);
    for (const [index, { from, to }] of pairs.entries()) {
      const { status } = world.compute(index);
      const open = notMet(to, world.endpoint(status.endpointID));
      expect({ index, id: status.endpointID, open }).toEqual({ index, id: ids[index], open: leftAlone(from, to) });
      const wanted = secretWanted(to);
      const failedWrite = world.secretsOf(index).map((secret) => secretFound(secret, status));
      expect({ index, bound: status.binding?.name, failedWrite }).toEqual({
        index,
        bound: wanted?.name,
        failedWrite: wanted === undefined ? [] : [wanted],
      });
      const reason = status.conditions?.[0]?.reason;
      expect({ index, drifted: reason === "Drifted" }).toEqual({ index, drifted: open.length > 0 });
    }
    await world.clock.advance(150_000);
    const [versions, reconciles] = [world.versions, await world.reconciles()];
    const writes = world.host.calls.filter(({ method }) => method !== "GET");
    // A write that the service refused with 423 did nothing.
    expect(writes.filter(({ status }) => status !== 423).length).toBeLessThanOrEqual(2 * pairs.length);
    // A refresh that shows nothing new reconciles nothing, so each is preceded by a change that does.
    for (let round = 0; round < rounds; round++) {
      world.lookAgain();
      await world.clock.advance(30_000);
    }
    expect((await world.reconciles()) - reconciles).toBeGreaterThanOrEqual(rounds * pairs.length);
    expect(world.host.calls.filter(({ method }) => method !== "GET")).toHaveLength(writes.length);
    expect(world.versions).toEqual(versions);
  },
  120_000,
);

/** Whether somebody else changes it before it is edited. */
function drifts(from: Spec): boolean {
  return from["driftPolicy"] === "Report" && from["passwordlessAccess"] !== undefined;
}

async function drift(world: SmallWorld, index: number, from: Spec): Promise<void> {
  const body = { endpoint: { passwordless_access: from["passwordlessAccess"] !== true } };
  world.console("PATCH", `/projects/shop/endpoints/${world.compute(index).status.endpointID}`, body);
  // The change locks the project for a moment.
  await world.clock.advance(10);
}

/**
 * What differs from the edited spec for ever: `Report` leaves what others changed, and carries out what the user did.
 */
function leftAlone(from: Spec, to: Spec): string[] {
  const left =
    drifts(from) && to["driftPolicy"] === "Report" && to["passwordlessAccess"] === from["passwordlessAccess"];
  return left ? ["passwordlessAccess"] : [];
}
