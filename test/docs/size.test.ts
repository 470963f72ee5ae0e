import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { pages } from "./commands.ts";

/** Pages for those who change or judge the code. */
const forContributors = /^(docs\/(proof\/|design\.md|own-operator\.md)|CONTRIBUTING|CHANGELOG|SECURITY)/;
const forUsers = pages.filter((page) => !forContributors.test(page));
const wordsIn = (page: string) =>
  readFileSync(page, "utf8")
    .split(/\s+/)
    .filter((word) => word !== "").length;

describe("the pages for users", () => {
  it("the pages for users have at most 32,000 words, manifests and output included", () => {
    expect(forUsers).toContain("docs/reference.md");
    expect(forUsers.length).toBeGreaterThan(15);
    expect(forUsers.reduce((sum, page) => sum + wordsIn(page), 0)).toBeLessThanOrEqual(32_000);
  });

  it("the reference has at most 8,000 words", () => {
    expect(wordsIn("docs/reference.md")).toBeLessThanOrEqual(8000);
  });

  it.each(forUsers.filter((page) => page !== "README.md" && page !== "docs/README.md"))(
    "the page %s begins with what its reader wants to do",
    (page) => {
      const [, first = ""] = readFileSync(page, "utf8").split("\n\n");
      expect(first).toMatch(/^You (want|see|look)\b/);
    },
  );
});

it("the README says by its line 25 what the stand-in is, and how to get it", () => {
  const begin = readFileSync("README.md", "utf8").split("\n").slice(0, 25).join("\n");
  expect(begin).toMatch(/stand-in for the service/);
  expect(begin).toMatch(/^git clone /m);
});

it("the README names the size of a CU, all five kinds, and a client that connects", () => {
  const text = readFileSync("README.md", "utf8");
  expect(text).toMatch(/1 CU is 1 vCPU and 4 GB/);
  const kinds = ["Compute", "ComputePool", "Branch", "ServiceConnection", "ClusterServiceConnection"];
  const drawn = readFileSync("docs/images/architecture.svg", "utf8");
  expect(kinds.filter((kind) => !text.includes(`\`${kind}\``) || !drawn.includes(kind))).toEqual([]);
  expect(text).toMatch(/^psql "\$\(kubectl get secret /m);
});
