import { expect, test } from "vitest";
import { Orphans } from "../../../src/operator/project/orphans.ts";
import { endpoint } from "../../support/builders.ts";

/** Endpoints whose names start with `orphan` have no Compute. */
function watchingOrphans() {
  const changes = { count: 0 };
  const orphans = new Orphans(
    (endpoints) => endpoints.filter(({ name = "" }) => name.startsWith("orphan")),
    () => {
      changes.count += 1;
    },
  );
  const listed = (projectID: string, startedAt: number, ...ids: string[]) =>
    orphans.listed(projectID, {
      endpoints: [endpoint({ name: "kept" }), ...ids.map((id) => endpoint({ id, name: `orphan-${id}` }))],
      startedAt,
      endedAt: startedAt + 100,
    });
  const ids = () => orphans.all.map(({ id }) => id);
  return { orphans, listed, ids, changes };
}

test("an endpoint without a Compute is an orphan after two lists ten seconds apart, and no sooner", () => {
  const { orphans, listed, ids, changes } = watchingOrphans();
  listed("shop", 6000, "ep-a");
  listed("shop", 15_999, "ep-a");
  expect([orphans.isJudged("shop"), ids(), changes.count]).toEqual([false, [], 0]);
  listed("shop", 16_000, "ep-a", "ep-new");
  expect([orphans.isJudged("shop"), ids(), changes.count]).toEqual([true, ["ep-a"], 1]);
  listed("shop", 25_999, "ep-a", "ep-new");
  expect([ids(), changes.count]).toEqual([["ep-a"], 1]);
  listed("shop", 26_000, "ep-a", "ep-new");
  expect([ids(), changes.count]).toEqual([["ep-a", "ep-new"], 2]);
});

test("the ten seconds start again for an endpoint that had its Compute in between", () => {
  const { listed, ids } = watchingOrphans();
  listed("shop", 0, "ep-a");
  listed("shop", 5000);
  listed("shop", 10_000, "ep-a");
  expect(ids()).toEqual([]);
  listed("shop", 20_000, "ep-a");
  expect(ids()).toEqual(["ep-a"]);
});

test("lists that differ only in their order change nothing", () => {
  const { listed, changes } = watchingOrphans();
  listed("shop", 0, "ep-b", "ep-a");
  listed("shop", 10_000, "ep-b", "ep-a");
  listed("shop", 20_000, "ep-a", "ep-b");
  expect(changes.count).toBe(1);
});

test("a project without orphans is reported once: until then the status keeps what another process reported", () => {
  const { orphans, listed, changes } = watchingOrphans();
  listed("shop", 0);
  expect([orphans.isJudged("shop"), changes.count]).toEqual([false, 0]);
  listed("shop", 10_000);
  listed("shop", 20_000);
  expect([orphans.isJudged("shop"), orphans.isJudged("other"), changes.count]).toEqual([true, false, 1]);
});

test("the orphans of all projects are sorted by id, and those of a project that is not listed any more are dropped", () => {
  const { orphans, listed } = watchingOrphans();
  for (const at of [0, 10_000]) {
    listed("shop", at, "ep-c");
    listed("blog", at, "ep-a");
    listed("wiki", at, "ep-b");
  }
  expect(orphans.all).toEqual([
    { id: "ep-a", projectID: "blog" },
    { id: "ep-b", projectID: "wiki" },
    { id: "ep-c", projectID: "shop" },
  ]);
  orphans.forget("wiki");
  expect([orphans.isJudged("wiki"), orphans.all.map(({ id }) => id)]).toEqual([false, ["ep-a", "ep-c"]]);
});
