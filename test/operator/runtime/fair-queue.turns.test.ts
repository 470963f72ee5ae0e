import { describe, expect, test } from "vitest";
import { FairQueue } from "../../../src/operator/runtime/fair-queue.ts";

/** A queue whose keys name their tenants with their first letter. */
function of(...keys: readonly string[]): FairQueue<string, string> {
  const queue = new FairQueue<string, string>();
  for (const key of keys) queue.put(key, key.slice(0, 1), key);
  return queue;
}

/** The next key, handled at once. */
function serve(queue: FairQueue<string, string>): string | undefined {
  const next = queue.next();
  next?.release();
  return next?.value;
}

function served(queue: FairQueue<string, string>): (string | undefined)[] {
  return Array.from({ length: queue.size }, () => serve(queue));
}

describe("a queue of keys that are handled at once", () => {
  test("a queue gives a tenant that comes back no turn before the others", () => {
    const queue = of("a1", "b1", "c1");
    expect(serve(queue)).toBe("a1");
    queue.put("a2", "a", "a2");
    expect(served(queue)).toEqual(["b1", "c1", "a2"]);
  });

  test("a queue keeps the place of a key that is added again, with its new value", () => {
    const queue = of("a1", "a2");
    queue.put("a1", "a", "again");
    expect([queue.get("a1"), queue.size]).toEqual(["again", 2]);
    expect(served(queue)).toEqual(["again", "a2"]);
  });

  test("a queue gives out a key on request, whatever its turn, unless its flow or tenant has no room", () => {
    const queue = new FairQueue<string, string>({ perFlow: 1, perTenant: 2 });
    for (const [key, flow] of [
      ["a1", "t/a"],
      ["a2", "t/a"],
      ["b1", "t/b"],
      ["c1", "t/c"],
    ] as const)
      queue.put(key, flow, key);
    const second = queue.take("a2");
    expect([second?.key, queue.take("a1"), queue.take("never put")]).toEqual(["a2", undefined, undefined]);
    expect([queue.take("c1")?.key, queue.take("b1")]).toEqual(["c1", undefined]);
    second?.release();
    expect(queue.take("b1")?.key).toBe("b1");
  });

  test("a queue puts a key before all others on request, and its tenant with it", () => {
    const queue = of("a1", "a2", "b1");
    queue.putFirst("b2", "b", "b2");
    queue.putFirst("a2", "a", "a2");
    expect([queue.size, queue.before("a2")]).toEqual([4, 0]);
    expect(served(queue)).toEqual(["a2", "b2", "a1", "b1"]);
    queue.putFirst("c1", "c", "c1");
    queue.clear();
    expect([queue.size, serve(queue)]).toEqual([0, undefined]);
  });

  test("a queue forgets what is deleted", () => {
    const queue = of("a1", "a2", "b1");
    expect([queue.remove("a1"), queue.remove("a1"), queue.size]).toEqual([true, false, 2]);
    expect([queue.get("a1"), [...queue.values()]]).toEqual([undefined, ["a2", "b1"]]);
    expect(served(queue)).toEqual(["a2", "b1"]);
    expect(serve(queue)).toBeUndefined();
  });

  test("a queue tells about how many come before a key", () => {
    const queue = of("a1", "a2", "a3", "b1");
    expect(["a1", "b1", "a2", "a3"].map((key) => queue.before(key))).toEqual([0, 0, 2, 3]);
    serve(queue);
    expect(["a2", "a3", "z"].map((key) => queue.before(key))).toEqual([0, 2, 0]);
  });

  test("a queue gives the next turn to the tenant of a key that is put before all others", () => {
    const queue = of("a1", "b1");
    queue.putFirst("b2", "b", "b2");
    expect(served(queue)).toEqual(["b2", "a1", "b1"]);
  });

  test("a queue counts on after a key was put before all others", () => {
    const queue = of();
    queue.putFirst("c1", "c", "c1");
    queue.put("c2", "c", "c2");
    expect(["c1", "c2"].map((key) => queue.before(key))).toEqual([0, 1]);
    queue.putFirst("c0", "c", "c0");
    queue.put("c3", "c", "c3");
    expect(serve(queue)).toBe("c0");
    expect(queue.before("c1")).toBe(0);
    expect(queue.before("c3")).toBeGreaterThan(0);
  });

  test("a queue counts no tenant of which none waits any more", () => {
    const queue = of("a1", "a2", "a3", "a4", "b1", "c1");
    for (const key of ["b1", "c1"]) queue.remove(key);
    expect(queue.before("a2")).toBe(1);
  });
});
