import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { noFaults } from "./fault-plan.ts";
import { play } from "./run.ts";
import type { World } from "./world.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: unknown = runInNewContext("gc");

test("a world that was played to its end leaves nothing behind, or some thousand of them fill the heap", async () => {
  const worlds: WeakRef<World>[] = [];
  const actions = [{ atMs: 3000, action: { do: "kill", downMs: 1000 } as const }];
  await play(
    { seed: 1, operators: 2, rates: noFaults, actions, calmAtMs: 10_000 },
    { onEnd: (world) => void worlds.push(new WeakRef(world)) },
  );
  if (typeof collectGarbage !== "function") throw new Error("--expose-gc gives no gc");
  expect(worlds).toHaveLength(1);
  const isThere = () => worlds.some((world) => world.deref() !== undefined);
  // A WeakRef that was made or read in a task holds its target until that ends, as a frame of the engine's own may.
  for (let tries = 0; tries < 20 && isThere(); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    collectGarbage();
  }
  expect(isThere()).toBe(false);
});
