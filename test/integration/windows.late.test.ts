import { expect, it } from "vitest";
import type { ClusterRequest } from "../../src/operator/kube/transport.ts";
import { calm } from "../simulation/api-server/faults.ts";
import { every, hour, ofTwo, resets, started } from "./support/rotating.ts";
import { SmallWorld } from "./support/small-world.ts";

// The clock begins on Thursday, 2026-01-01, at midnight UTC. What the API server is asked before a write takes seconds.

const slowMs = 4000;
const minutes = 60_000;
const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } };
const disruption = { windows: [{ days: ["Thu"], from: "00:00", to: "01:00" }] };

/** A world whose API server is slow to take a record, with a compute that never suspends automatically. */
async function slowlyRecorded(): Promise<SmallWorld> {
  const isRecord = (body: unknown) => JSON.stringify(body ?? null).includes('"operation":"move"');
  const weather = {
    ...calm,
    request: ({ body }: ClusterRequest) => ({
      kind: "answered" as const,
      arriveMs: isRecord(body) ? slowMs : 0,
      replyMs: 0,
    }),
  };
  const world = new SmallWorld([place.branchID, "br-0-b"], 1, { timeScale: 1 }, weather);
  world.declare(0, { ...place, disruption });
  await world.settle(1);
  return world;
}

const movesIn = ({ host }: SmallWorld): number => host.calls.filter(({ method }) => method === "PATCH").length;

it.each([
  ["the same operator", false],
  ["the next operator", true],
])(
  "a move whose record is written only after the window has closed is sent in the next one, by %s",
  async (_, dies) => {
    await using world = await slowlyRecorded();
    await world.clock.advance(60 * minutes - 4000 - world.clock.monotonic());
    world.edit(0, { branchID: "br-0-b" });
    await world.clock.advance(30_000);
    if (dies) await world.restart();
    await world.clock.advance(2 * minutes);
    expect(movesIn(world)).toBe(0);
    expect(world.compute(0).status).toMatchObject({
      waiting: [{ field: "branchID", ours: "br-0-b" }],
      nextWindow: "2026-01-08T00:00:00Z",
    });
    world.annotate(0, "disruptionUntil", "2026-01-01T02:00:00Z");
    await world.clock.advance(minutes);
    expect(movesIn(world)).toBe(1);
    expect(world.endpoints[0]?.branch_id).toBe("br-0-b");
    await world.settle(1);
  },
);

it("a rotation by age whose Secret is read only after the window has closed waits for the next one", async () => {
  let isSlow = false;
  const isRead = ({ method, path }: ClusterRequest) => method === "GET" && path.endsWith("/secrets");
  const weather = {
    ...calm,
    request: (request: ClusterRequest) => ({
      kind: "answered" as const,
      arriveMs: isSlow && isRead(request) ? slowMs : 0,
      replyMs: 0,
    }),
  };
  const windows = [{ from: "05:00", to: "06:00" }];
  await using world = await started({ ...every(ofTwo), disruption: { windows } }, weather);
  world.annotate(0, "paused", "true");
  await world.clock.advance(6 * hour - 4000 - world.clock.monotonic());
  expect(resets(world)).toHaveLength(0);
  isSlow = true;
  world.annotate(0, "paused", "false");
  await world.clock.advance(30_000);
  isSlow = false;
  await world.clock.advance(hour);
  expect(resets(world)).toHaveLength(0);
  await world.clock.advance(22 * hour);
  expect(resets(world)).toHaveLength(1);
});
