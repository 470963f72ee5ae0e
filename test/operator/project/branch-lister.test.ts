import { describe, expect, test } from "vitest";
import { BranchLister } from "../../../src/operator/project/branch-lister.ts";
import { clientOf, json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const refreshMs = 30_000;
const branch = (id: string, name: string) => ({ id, name });

/** A project with these branches, until a test says otherwise. */
function listing(...first: ReturnType<typeof branch>[]) {
  const clock = new VirtualClock();
  let branches: ReturnType<typeof branch>[] | undefined = first;
  const service = new ScriptedService(() =>
    branches === undefined ? refusal(403, "no branches for you") : json(200, { branches }),
  );
  const woken: string[] = [];
  const lister = new BranchLister({
    log: silentLogger,
    client: clientOf(service, clock),
    projectID: "shop",
    clock,
    refreshIntervalMs: () => refreshMs,
    tenant: () => "team",
    enqueue: (uids) => woken.push(...uids),
    signal: new AbortController().signal,
  });
  return {
    clock,
    lister,
    lists: () => service.count("/branches"),
    news: () => woken.splice(0).toSorted(),
    become: (...next: ReturnType<typeof branch>[]) => {
      branches = next;
    },
    fail: () => {
      branches = undefined;
    },
  };
}

describe("branches are listed", () => {
  test("at once for the first Compute that names one, then once per refresh however many do", async () => {
    const { clock, lister, lists } = listing(branch("br-a", "main"));
    await clock.advance(refreshMs);
    expect(lists()).toBe(0);
    for (const uid of ["one", "two", "three"]) lister.use(uid, "main");
    await clock.advance(10);
    expect(lists()).toBe(1);
    for (const uid of ["four", "five"]) lister.use(uid, uid);
    await clock.advance(10 * refreshMs);
    expect(lists()).toBe(11);
  });

  test("no more once nobody names one, nor again before a refresh is over where somebody does soon after", async () => {
    const { clock, lister, lists } = listing(branch("br-a", "main"));
    lister.use("one", "main");
    await clock.advance(1000);
    lister.use("one", undefined);
    await clock.advance(9000);
    lister.use("two", "main");
    await clock.advance(1000);
    expect([lists(), lister.lookup("two", "main", undefined)]).toEqual([
      1,
      { kind: "listed", ids: ["br-a"], forMs: 0 },
    ]);
    lister.leave("two");
    await clock.advance(5 * refreshMs);
    expect(lists()).toBe(1);
    // What was known is too old by now.
    lister.use("three", "main");
    expect(lister.lookup("three", "main", undefined)).toBeUndefined();
    await clock.advance(1000);
    expect(lists()).toBe(2);
  });
});

describe("a name", () => {
  test("tells for how long all lists have said the same of it, also that no branch has it", async () => {
    const { clock, lister, become } = listing(branch("br-a", "main"));
    lister.use("one", "main");
    lister.use("two", "preview");
    await clock.advance(2 * refreshMs + 10);
    expect(lister.lookup("one", "main", "br-a")).toEqual({ kind: "listed", ids: ["br-a"], forMs: 2 * refreshMs });
    expect(lister.lookup("two", "preview", "br-b")).toEqual({ kind: "listed", ids: [], forMs: 2 * refreshMs });
    become(branch("br-b", "main"), branch("br-a", "main"), branch("br-c", "preview"));
    await clock.advance(refreshMs);
    expect(lister.lookup("one", "main", "br-a")).toEqual({ kind: "listed", ids: ["br-a", "br-b"], forMs: 0 });
    expect(lister.lookup("two", "preview", "br-b")).toEqual({ kind: "listed", ids: ["br-c"], forMs: 0 });
  });

  test("enqueues those whose branch it is not, and those for whom it has changed, with each list", async () => {
    const { clock, lister, news, become } = listing(branch("br-a", "main"));
    for (const uid of ["kept", "moved"]) lister.use(uid, uid === "kept" ? "main" : "preview");
    await clock.advance(10);
    news();
    lister.lookup("kept", "main", "br-a");
    lister.lookup("moved", "preview", "br-b");
    await clock.advance(refreshMs);
    expect(news()).toEqual(["moved"]);
    await clock.advance(refreshMs);
    expect(news()).toEqual([]);
    become(branch("br-b", "main"));
    await clock.advance(refreshMs);
    expect(news()).toEqual(["kept"]);
  });

  test("a name is not taken from a branch with an id that cannot be sent", async () => {
    const { clock, lister } = listing(branch("br a/..", "main"));
    lister.use("one", "main");
    await clock.advance(10);
    expect(lister.lookup("one", "main", undefined)).toMatchObject({ ids: [] });
  });
});

describe("a list that fails", () => {
  test("a failed list is reported at once if it is the first, else from the second failure on", async () => {
    const { clock, lister, fail } = listing(branch("br-a", "main"));
    lister.use("one", "main");
    await clock.advance(10);
    fail();
    await clock.advance(refreshMs);
    expect(lister.lookup("one", "main", "br-a")).toMatchObject({ kind: "listed" });
    await clock.advance(refreshMs);
    expect(lister.lookup("one", "main", "br-a")).toMatchObject({ kind: "failed", failure: { kind: "forbidden" } });
    const other = listing();
    other.fail();
    other.lister.use("one", "main");
    await other.clock.advance(10);
    expect(other.lister.lookup("one", "main", undefined)).toMatchObject({ kind: "failed" });
    expect(other.news()).toEqual([]);
  });
});

describe("the branch of an endpoint that a Compute misses", () => {
  const refresh = 30_000;

  test("a missed branch is judged by a list from after the time in question, one for however many Computes", async () => {
    const { clock, lister, lists, news } = listing(branch("br-a", "main"));
    const uids = ["one", "two", "three"];
    for (const uid of uids) expect(lister.shows(uid, "br-a", 10_000)).toBeUndefined();
    await clock.advance(10_000);
    expect([lists(), news()]).toEqual([0, []]);
    await clock.advance(100);
    expect([lists(), news()]).toEqual([1, uids.toSorted()]);
    expect(lister.shows("one", "br-a", 10_000)).toBe("shown");
    expect(lister.shows("two", "br-b", 10_000)).toBe("gone");
    expect([lister.lacks("br-a"), lister.lacks("br-b")]).toEqual([false, true]);
    expect(lister.shows("one", "br-a", 20_000)).toBeUndefined();
  });

  test("a missed branch is listed once per refresh while it is missed, and the Compute is enqueued when it comes or goes", async () => {
    const { clock, lister, lists, news, become } = listing();
    lister.shows("one", "br-a", 0);
    await clock.advance(100);
    expect(lister.shows("one", "br-a", 0)).toBe("gone");
    news();
    await clock.advance(2 * refresh);
    expect([lists(), news()]).toEqual([3, []]);
    become(branch("br-a", "main"));
    await clock.advance(refresh);
    expect([news(), lister.shows("one", "br-a", 0)]).toEqual([["one"], "shown"]);
    lister.found("one");
    await clock.advance(3 * refresh);
    expect(lists()).toBeLessThanOrEqual(5);
  });

  test("a missed branch is unknown where the service does not list branches, and the Compute is enqueued at once", async () => {
    const { clock, lister, news, fail } = listing();
    fail();
    expect([lister.shows("one", "br-a", 0), lister.lacks("br-a")]).toEqual([undefined, false]);
    await clock.advance(100);
    expect([news(), lister.shows("one", "br-a", 0), lister.lacks("br-a")]).toEqual([["one"], "failed", false]);
  });

  test("a missed branch that could not be looked up is gone as soon as lists without it come, and its Compute enqueued", async () => {
    const { clock, lister, news, fail, become } = listing();
    fail();
    lister.shows("one", "br-a", 0);
    await clock.advance(100);
    expect([news(), lister.shows("one", "br-a", 0)]).toEqual([["one"], "failed"]);
    await clock.advance(10_000);
    expect(news()).toEqual([]);
    become(branch("br-b", "main"));
    await clock.advance(refresh);
    expect([news(), lister.shows("one", "br-a", 0)]).toEqual([["one"], "gone"]);
  });

  test("a missed branch is no longer listed for a Compute that leaves, and still for its name where it only was found", async () => {
    const { clock, lister, lists } = listing(branch("br-a", "main"));
    lister.shows("one", "br-a", 0);
    await clock.advance(100);
    lister.leave("one");
    await clock.advance(3 * refresh);
    expect(lists()).toBe(1);
    lister.use("two", "main");
    lister.shows("two", "br-a", clock.monotonic());
    lister.found("two");
    const before = lists();
    await clock.advance(4 * refresh);
    expect(lists()).toBeGreaterThanOrEqual(before + 4);
  });
});
