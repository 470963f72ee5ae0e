import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { explanations } from "../../scripts/explanations.ts";
import { reasons } from "../../src/operator/compute/words/reasons.ts";
import { commandsOf } from "./blocks.ts";

const readme = readFileSync("README.md", "utf8");

it("docs/reference.md explains every reason that a condition can have, each once, and no other", () => {
  const explained = explanations.flatMap(({ reasons: names }) => names);
  expect(explained.toSorted()).toEqual(Object.keys(reasons).toSorted());
});

describe("the README", () => {
  it("the README has at most 130 lines", () => {
    expect(readme.trimEnd().split("\n").length).toBeLessThanOrEqual(130);
  });

  it("links only to what is there", () => {
    const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)]
      .map(([, link = ""]) => link)
      .filter((link) => !link.includes(":"));
    expect(links.filter((link) => !existsSync(link))).toEqual([]);
  });

  it("names only scripts that package.json has", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
    const named = commandsOf("README.md").flatMap((line) => /^npm (?:run )?([\w:]+)/.exec(line)?.[1] ?? []);
    expect(named).toEqual(["demo", "test"]);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});
