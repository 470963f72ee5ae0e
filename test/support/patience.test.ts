import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually } from "./eventually.ts";
import { patience } from "./patience.ts";

/** The thread does nothing at all, as on a machine that stands still. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test("a machine that stands still costs what is waited for no patience", async () => {
  let isOver = false;
  const { stop } = patience(500, () => {
    isOver = true;
  });
  standStill(1000);
  await sleep(150);
  expect(isOver).toBe(false);
  await expect.poll(() => isOver).toBe(true);
  stop();
});

test("what comes after a machine stood still is seen, and what never comes is given up", async () => {
  let asked = 0;
  const came = eventually("the second answer", () => (asked++ > 0 ? asked : undefined), {
    timeoutMs: 300,
    everyMs: 10,
  });
  standStill(1000);
  expect(await came).toBe(2);
  const never = eventually("nothing", () => undefined, { timeoutMs: 200, everyMs: 10 });
  await expect(never).rejects.toThrow("waited 200 ms in vain for: nothing");
});
