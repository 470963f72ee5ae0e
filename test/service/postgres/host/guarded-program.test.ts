import { expect, it } from "vitest";
import { GuardedProgram } from "../../../../src/service/postgres/host/guarded-program.ts";

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
});
