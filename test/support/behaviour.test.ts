import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { behavioursIn, unproved } from "./behaviour.ts";

const root = join(import.meta.dirname, "..", "..");
const behaviours = behavioursIn(readFileSync(join(root, "docs", "proof", "service-behaviour.md"), "utf8"));

describe("docs/proof/service-behaviour.md", () => {
  it("names a test file that exists in every row", () => {
    expect(behaviours.length).toBeGreaterThan(80);
    expect(behaviours.filter(({ file }) => !existsSync(join(root, "test", file)))).toEqual([]);
    expect(behaviours.filter(({ behaviour, test }) => behaviour === "" || test === "")).toEqual([]);
  });
});

describe("a behaviour", () => {
  const row = { behaviour: "it works", file: "a.test.ts", test: "a thing > works … times" };
  const ran = (name: string, passed = true) => new Map([["a.test.ts", new Map([[name, passed]])]]);

  it("a behaviour is proved by a test of that name that has passed", () => {
    expect(unproved([row], ran("a thing > works three times"))).toEqual([]);
  });

  it("a behaviour is not proved by a test that failed, or was skipped, or is not there", () => {
    expect(unproved([row], ran("a thing > works three times", false))).toEqual([
      '"it works": "a thing > works … times" in a.test.ts has not passed',
    ]);
    expect(unproved([row], ran("a thing > works"))).toEqual([
      '"it works": a.test.ts has no test named "a thing > works … times"',
    ]);
  });

  it("a behaviour is not judged by a run that left its file out", () => {
    expect(unproved([row], new Map())).toEqual([]);
  });
});
