import { expect, it } from "vitest";
import { type Session, Sessions } from "../../../src/service/postgres/sessions.ts";

const session = (endpointId: string, pooled: boolean, counts = true): Session => ({ endpointId, pooled, counts });

it("clients are counted for each compute, direct and pooled ones apart, and only those that have logged in", () => {
  const sessions = new Sessions();
  for (const one of [session("ep-a", false), session("ep-a", true), session("ep-a", true), session("ep-b", false)])
    sessions.open(one);
  sessions.open(session("ep-a", false, false));
  const counts = (id: string) => [sessions.count(id, false), sessions.count(id, true)];
  expect([counts("ep-a"), counts("ep-b"), counts("ep-c")]).toEqual([
    [1, 2],
    [1, 0],
    [0, 0],
  ]);
  expect(sessions.endpoints()).toEqual(["ep-a", "ep-b"]);
});

it("the last of a compute's clients leaves alone, whatever others have, and no client leaves twice", () => {
  const sessions = new Sessions();
  const [direct, pooled, other] = [session("ep-a", false), session("ep-a", true), session("ep-b", false)];
  for (const one of [direct, pooled, other]) sessions.open(one);
  expect([sessions.close(direct, 1000), sessions.close(direct, 2000)]).toEqual([false, false]);
  expect([sessions.lastLeft("ep-a"), sessions.lastLeft("ep-b"), sessions.any("ep-a")]).toEqual([1000, 0, true]);
  expect([sessions.close(pooled, 3000), sessions.close(pooled, 3000)]).toEqual([true, false]);
  expect([sessions.lastLeft("ep-a"), sessions.any("ep-a"), sessions.any("ep-b")]).toEqual([0, false, true]);
});
