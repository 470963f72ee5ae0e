import { expect, it } from "vitest";
import { Repeated } from "../../src/service/repeated.ts";
import { VirtualClock } from "../support/virtual-clock.ts";

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
  const repeated = new Repeated(clock, 1000, work);
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
  const repeated = new Repeated(clock, 1000, () => (done += 1));
  repeated.begin();
  await repeated.close();
  await clock.advance(5000);
  expect([done, clock.pending]).toEqual([0, 0]);
});
