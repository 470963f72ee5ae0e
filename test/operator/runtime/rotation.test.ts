import { describe, expect, test } from "vitest";
import { Rotation } from "../../../src/operator/runtime/rotation.ts";

function of(...keys: readonly string[]): Rotation<string> {
  const rotation = new Rotation<string>();
  for (const key of keys) rotation.add(key, key.slice(0, 1), key);
  return rotation;
}

function served(rotation: Rotation<string>): (string | undefined)[] {
  return Array.from({ length: rotation.size }, () => rotation.next()?.value);
}

describe("a rotation", () => {
  test("serves tenants in turn, however many keys each has, and the keys of one in order of arrival", () => {
    expect(served(of("a1", "a2", "a3", "b1", "c1", "b2"))).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  });

  test("gives a tenant that comes back no turn before the others", () => {
    const rotation = of("a1", "b1", "c1");
    expect(rotation.next()?.value).toBe("a1");
    rotation.add("a2", "a", "a2");
    expect(served(rotation)).toEqual(["b1", "c1", "a2"]);
  });

  test("keeps the place and the value of a key that is added again, under whatever tenant", () => {
    const rotation = of("a1", "a2");
    rotation.add("a1", "b", "other");
    expect([rotation.get("a1"), rotation.size]).toEqual(["a1", 2]);
    expect(served(rotation)).toEqual(["a1", "a2"]);
  });

  test("puts a key before all others on request, and its tenant with it", () => {
    const rotation = of("a1", "a2", "b1");
    rotation.addFirst("b2", "b", "b2");
    rotation.addFirst("a2", "a", "a2");
    expect([rotation.size, rotation.before("a2")]).toEqual([4, 0]);
    expect(served(rotation)).toEqual(["a2", "b2", "a1", "b1"]);
    rotation.addFirst("c1", "c", "c1");
    rotation.clear();
    expect([rotation.size, rotation.next()]).toEqual([0, undefined]);
  });

  test("forgets what is deleted", () => {
    const rotation = of("a1", "a2", "b1");
    expect([rotation.delete("a1"), rotation.delete("a1"), rotation.size]).toEqual([true, false, 2]);
    expect([rotation.get("a1"), rotation.values()]).toEqual([undefined, ["a2", "b1"]]);
    expect(served(rotation)).toEqual(["a2", "b1"]);
    expect(rotation.next()).toBeUndefined();
  });

  test("tells about how many come before a key", () => {
    const rotation = of("a1", "a2", "a3", "b1");
    expect(["a1", "b1", "a2", "a3"].map((key) => rotation.before(key))).toEqual([0, 0, 2, 3]);
    rotation.next();
    expect(["a2", "a3", "z"].map((key) => rotation.before(key))).toEqual([0, 2, 0]);
  });

  test("gives the next turn to the tenant of a key that is put before all others", () => {
    const rotation = of("a1", "b1");
    rotation.addFirst("b2", "b", "b2");
    expect(served(rotation)).toEqual(["b2", "a1", "b1"]);
  });

  test("counts on after a key was put before all others", () => {
    const rotation = of();
    rotation.addFirst("c1", "c", "c1");
    rotation.add("c2", "c", "c2");
    expect(["c1", "c2"].map((key) => rotation.before(key))).toEqual([0, 1]);
    rotation.addFirst("c0", "c", "c0");
    rotation.add("c3", "c", "c3");
    expect(rotation.next()?.value).toBe("c0");
    expect(rotation.before("c1")).toBe(0);
    expect(rotation.before("c3")).toBeGreaterThan(0);
  });

  test("counts no tenant of which none waits any more", () => {
    const rotation = of("a1", "a2", "a3", "a4", "b1", "c1");
    for (const key of ["b1", "c1"]) rotation.delete(key);
    expect(rotation.before("a2")).toBe(1);
  });
});
