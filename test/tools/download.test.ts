import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pinnedVersion, releaseOf } from "./download.ts";

const versionOf = (tool: string) => pinnedVersion(readFileSync(`test/tools/go/${tool}/go.mod`, "utf8"));

test.each([
  ["actionlint", /\/v1\.\d+\.\d+\/actionlint_1\.\d+\.\d+_linux_amd64\.tar\.gz$/],
  ["krew", /\/v0\.\d+\.\d+\/krew-linux_amd64\.tar\.gz$/],
  ["helm", /^https:\/\/get\.helm\.sh\/helm-v4\.\d+\.\d+-linux-amd64\.tar\.gz$/],
  ["kubeconform", /\/v0\.\d+\.\d+\/kubeconform-linux-amd64\.tar\.gz$/],
  ["promtool", /\/v3\.\d+\.\d+\/prometheus-3\.\d+\.\d+\.linux-amd64\.tar\.gz$/],
])("%s is downloaded in the version that is built where nothing can be downloaded", (tool, url) => {
  expect(releaseOf(tool, versionOf(tool), "linux", "amd64")?.url).toMatch(url);
});

test("the version of a tool is that of the longest module path that holds it", () => {
  const goMod =
    "tool a.b/c/cmd/d\n\nrequire (\n\ta.b/c v1.2.3 // indirect\n\ta.b v9.9.9 // indirect\n\ta.b/cc v8.8.8\n)\n";
  expect(pinnedVersion(goMod)).toBe("1.2.3");
});
