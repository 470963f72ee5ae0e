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
  // A WeakRef that was made in this task still holds its target.
  await new Promise((resolve) => setImmediate(resolve));
  if (typeof collectGarbage !== "function") throw new Error("--expose-gc gives no gc");
  collectGarbage();
  expect(worlds.map((world) => world.deref() === undefined)).toEqual([true]);
});
