import { expect, it, onTestFinished, vi } from "vitest";
import { type Session, Sessions } from "../../../../src/service/postgres/fleet/sessions.ts";

const session = (endpointId: string, pooled: boolean, counts = true): Session => ({
  endpointId,
  pooled,
  counts,
  logout: new AbortController(),
});

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

it("a client counts from its login to its end, and no longer", () => {
  const sessions = new Sessions();
  const [one, other] = [session("ep-a", false, false), session("ep-a", false)];
  sessions.open(one);
  sessions.open(other);
  sessions.logIn(one);
  expect(sessions.count("ep-a", false)).toBe(2);
  const stranger = session("ep-a", false, false);
  sessions.open(stranger);
  sessions.close(stranger, 0);
  expect(sessions.count("ep-a", false)).toBe(2);
  for (const each of [one, one, other]) sessions.close(each, 0);
  expect(sessions.count("ep-a", false)).toBe(0);
});

it("a login among ten thousand clients, and each of their ends, looks at none of the others", () => {
  const sessions = new Sessions();
  const all = Array.from({ length: 10_000 }, () => session("ep-a", true));
  const looks = vi.spyOn(Set.prototype, Symbol.iterator);
  onTestFinished(() => looks.mockRestore());
  for (const one of all) sessions.open(one);
  const count = sessions.count("ep-a", true);
  for (const one of all) sessions.close(one, 0);
  expect([count, sessions.count("ep-a", true), looks.mock.calls.length]).toEqual([10_000, 0, 0]);
});

it("the last of a compute's clients is alone there, whatever others have, and no client leaves twice", () => {
  const sessions = new Sessions();
  const [direct, pooled, other] = [session("ep-a", false), session("ep-a", true), session("ep-b", false)];
  for (const one of [direct, pooled, other]) sessions.open(one);
  const alone = () => [direct, pooled, other].map((one) => sessions.isAlone(one));
  expect(alone()).toEqual([false, false, true]);
  for (const at of [1000, 2000]) sessions.close(direct, at);
  expect(alone()).toEqual([false, true, true]);
  expect([sessions.lastLeft("ep-a"), sessions.lastLeft("ep-b"), sessions.any("ep-a")]).toEqual([1000, 0, true]);
  for (const at of [3000, 4000]) sessions.close(pooled, at);
  expect(alone()).toEqual([false, false, true]);
  expect([sessions.lastLeft("ep-a"), sessions.any("ep-a"), sessions.any("ep-b")]).toEqual([0, false, true]);
});

it("sessions of the roles that are named are logged out, or all that have said a role, at the one compute", () => {
  const sessions = new Sessions();
  const of = (endpointId: string, role?: string): Session => ({ ...session(endpointId, false), ...(role && { role }) });
  const all = [of("ep-a", "app"), of("ep-a", "other"), of("ep-a"), of("ep-b", "app")];
  for (const one of all) sessions.open(one);
  const ended = () => all.map(({ logout }) => logout.signal.aborted);
  sessions.logOut("ep-a", ["app"]);
  expect(ended()).toEqual([true, false, false, false]);
  sessions.logOut("ep-a", undefined);
  expect(ended()).toEqual([true, true, false, false]);
});

it("pooled sessions that have logged in by a role's name are logged out at its compute, and no others", () => {
  const sessions = new Sessions();
  const client = (change: Partial<Session>) => ({ ...session("ep-a", true), role: "app", ...change });
  const [proven, ...others] = [
    client({}),
    client({ counts: false }),
    client({ pooled: false }),
    client({ role: "other" }),
    client({ endpointId: "ep-b" }),
  ];
  for (const one of [proven, ...others]) sessions.open(one);
  sessions.logOutPooled(client({}));
  expect([proven, ...others].map(({ logout }) => logout.signal.aborted)).toEqual([true, false, false, false, false]);
});

it("clients that replicate are counted once they have logged in", () => {
  const sessions = new Sessions();
  for (const counts of [true, false]) sessions.open({ ...session("ep-a", false, counts), replicates: true });
  sessions.open(session("ep-a", false));
  expect([sessions.replicating("ep-a"), sessions.replicating("ep-b")]).toEqual([1, 0]);
});
