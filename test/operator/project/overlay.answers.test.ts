import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { endpoint, operation } from "../../support/builders.ts";
import { json } from "../../support/scripted-service.ts";
import { refreshMs, watching } from "../connection/watching.ts";

describe("the answer to a write", () => {
  const before = endpoint({ autoscaling_limit_max_cu: 2 });
  const written = endpoint({ autoscaling_limit_max_cu: 4 });

  /** A project that was listed, and whose endpoint was then written to. */
  async function wrote(listed: Endpoint[] = [before], answered = written) {
    const watch = watching([before]);
    watch.lister.use("a", "ep-one");
    await watch.clock.advance(1000);
    watch.service.script = () => json(200, { endpoints: listed });
    watch.lister.answered(answered);
    const shown = () => watch.lister.observed?.endpoints.find(({ id }) => id === answered.id)?.autoscaling_limit_max_cu;
    return { ...watch, shown };
  }

  test("the answer to a write is laid over the latest list, for all Computes; the list itself stays as it was", async () => {
    const { lister, shown } = await wrote();
    expect([shown(), lister.answers.has("ep-one")]).toEqual([4, true]);
    expect(lister.listing?.endpoints).toMatchObject([{ autoscaling_limit_max_cu: 2 }]);
    expect(lister.listedAfter(-1, "a")?.endpoints).toMatchObject([{ autoscaling_limit_max_cu: 4 }]);
    expect(lister.writtenAt("ep-one")).toBe(1000);
  });

  test("shows an endpoint that no list has, which is not missed until one does", async () => {
    const { clock, service, lister } = await wrote([before]);
    lister.answered(endpoint({ id: "ep-new" }), true);
    expect(lister.observed?.endpoints.map(({ id }) => id)).toEqual(["ep-one", "ep-new"]);
    expect(lister.isUnlisted("ep-new")).toBe(true);
    service.script = () => json(200, { endpoints: [before, endpoint({ id: "ep-new" })] });
    await clock.advance(refreshMs);
    expect(lister.isUnlisted("ep-new")).toBe(false);
  });

  test("counts until a list shows the endpoint as written, whatever its state", async () => {
    const { clock, lister, shown } = await wrote([endpoint({ autoscaling_limit_max_cu: 4, current_state: "idle" })]);
    await clock.advance(refreshMs);
    expect([shown(), lister.answers.has("ep-one")]).toEqual([4, false]);
    expect(lister.observed?.endpoints).toMatchObject([{ current_state: "idle" }]);
  });

  test("gives way to two lists that contradict it, and not to one", async () => {
    const { clock, lists, shown } = await wrote();
    await clock.advance(1);
    expect([lists(), shown()]).toEqual([2, 4]);
    await clock.advance(1000);
    expect([lists(), shown()]).toEqual([3, 2]);
  });

  test("gives way to no list from before its operations ended", async () => {
    const { clock, service, lister, shown } = await wrote();
    const running = operation({ id: "op-1", endpoint_id: "ep-one" });
    let status = "running";
    service.script = ({ path }) =>
      json(200, path.endsWith("/operations") ? { operations: [{ ...running, status }] } : { endpoints: [before] });
    lister.operations.follow([running]);
    for (let second = 0; second < 30; second += 1) {
      lister.listedAfter(clock.monotonic(), "a");
      await clock.advance(1000);
    }
    expect(shown()).toBe(4);
    status = "finished";
    await clock.advance(10_000);
    expect(shown()).toBe(2);
  });

  test("an answer is dropped by a later write whose answer shows nothing: only a list can tell then", async () => {
    const { clock, lister, shown } = await wrote();
    await clock.advance(0);
    lister.wrote("ep-one");
    expect([shown(), lister.answers.has("ep-one")]).toEqual([2, false]);
  });

  test("enqueues the Computes that it affects, such as those that wait for a branch that it left", async () => {
    const { lister, news, clock } = await wrote();
    const branch = before.branch_id;
    lister.use("waits", undefined, { endpointIDs: [], primariesOf: [branch], anyPlace: false });
    await clock.advance(5000);
    news();
    lister.answered({ ...before, branch_id: "br-elsewhere" });
    expect(news()).toEqual(["a", "waits"]);
  });
});
