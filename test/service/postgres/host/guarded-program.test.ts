import { expect, it } from "vitest";
import { GuardedProgram } from "../../../../src/service/postgres/host/guarded-program.ts";
import { realClock } from "../../../support/real-clock.ts";

it("the end of a program is reported to all who follow it, and not to those who have stopped", async () => {
  const end = Promise.withResolvers<number | null>();
  const program = new GuardedProgram({ ended: end.promise, stop: () => end.resolve(0) });
  const heard: string[] = [];
  program.onEnd(() => heard.push(`one, running: ${program.running}`));
  const stop = program.onEnd(() => heard.push("two"));
  program.onEnd(() => heard.push("three"));
  stop();
  expect(heard).toEqual([]);
  await program.stop();
  expect(heard).toEqual(["one, running: false", "three"]);
  program.onEnd(() => heard.push("late"));
  expect(heard.slice(2)).toEqual(["late"]);
});

it("a program has its time to start although the clock of the machine is set meanwhile", async () => {
  const program = new GuardedProgram({ ended: new Promise(() => {}), stop: () => {} });
  let looks = 0;
  const isReady = () => Promise.resolve(++looks === 4);
  const set = { ...realClock, now: () => realClock.now() + looks * 3_600_000 };
  expect(await program.whenReady(isReady, set, 60_000)).toBe("ready");
});
