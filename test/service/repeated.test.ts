import { expect, it } from "vitest";
import { Repeated } from "../../src/service/repeated.ts";
import { VirtualClock } from "../support/virtual-clock.ts";

const never = (error: unknown) => {
  throw error;
};

it("work is repeated so long after its end, and no more once it is closed, also amid it", async () => {
  const clock = new VirtualClock();
  const begun: number[] = [];
  let end = () => {};
  const work = () => {
    begun.push(clock.monotonic());
    return new Promise<void>((resolve) => {
      end = resolve;
    });
  };
  const repeated = new Repeated(clock, 1000, work, never);
  repeated.begin();
  await clock.advance(1000);
  await clock.advance(5000);
  end();
  await clock.advance(1000);
  expect(begun).toEqual([1000, 7000]);
  let isClosed = false;
  const closed = repeated.close().finally(() => {
    isClosed = true;
  });
  await clock.advance(5000);
  expect([isClosed, repeated.isClosed]).toEqual([false, true]);
  end();
  await closed;
  await clock.advance(5000);
  expect(begun).toEqual([1000, 7000]);
});

it("work that is closed before its time is never done", async () => {
  const clock = new VirtualClock();
  let done = 0;
  const repeated = new Repeated(clock, 1000, () => (done += 1), never);
  repeated.begin();
  await repeated.close();
  await clock.advance(5000);
  expect([done, clock.pending]).toEqual([0, 0]);
});

it.each([
  ["throws", () => never(new Error("no"))],
  ["rejects", () => Promise.reject(new Error("no"))],
])("work that %s is reported, and done again at its time", async (_, fail) => {
  const clock = new VirtualClock();
  const errors: unknown[] = [];
  const repeated = new Repeated(clock, 1000, fail, (error) => errors.push(error));
  repeated.begin();
  await clock.advance(3000);
  expect(errors).toEqual([new Error("no"), new Error("no"), new Error("no")]);
  await repeated.close();
  expect(clock.pending).toBe(0);
});
