import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { reasons } from "../../src/operator/compute/status/reasons.ts";
import { commandsOf } from "./blocks.ts";

const readme = readFileSync("README.md", "utf8");

describe("the README", () => {
  it("explains every reason that a condition can have, and no other", () => {
    const rows = readme.split("\n").filter((line) => line.startsWith("| `"));
    const explained = rows.flatMap((row) =>
      [...(row.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    expect(new Set(explained)).toEqual(new Set(Object.keys(reasons)));
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
