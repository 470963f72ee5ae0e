import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "ci-run-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** One run of tests: what it writes for .ci/run, and its exit code. */
interface Run {
  counts: readonly string[];
  status: number;
}

const passes = (tests: number): Run => ({ counts: [`${tests} 0`], status: 0 });
const failsIn = (...failures: string[]): Run => ({ counts: [`7 ${failures.length}`, ...failures], status: 1 });

/** .ci/run with programs in place of npm and npx that write these counts. */
function ciRun(runs: { test: Run; verify: Run; again: Run }): { status: number | null; lines: string[] } {
  const program = (name: string, body: string) => {
    writeFileSync(join(directory, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(directory, name), 0o755);
  };
  for (const [name, { counts }] of Object.entries(runs)) {
    writeFileSync(join(directory, `${name}.counts`), counts.map((line) => `${line}\n`).join(""));
  }
  const play = (name: "test" | "verify" | "again") =>
    `cat ${join(directory, `${name}.counts`)} >"$COMPUTE_OPERATOR_TEST_COUNTS"; exit ${runs[name].status}`;
  program("npm", `case "$*" in test) ${play("test")};; "run verify") ${play("verify")};; esac\nexit 99`);
  program("npx", `echo "npx $*"; ${play("again")}`);
  const env = { ...process.env, PATH: `${directory}${delimiter}${process.env["PATH"]}` };
  const { status, stdout } = spawnSync("bash", [".ci/run"], { encoding: "utf8", env });
  return { status, lines: stdout.trim().split("\n") };
}

describe(".ci/run", () => {
  it("passes where both runs pass, and adds their tests up", () => {
    expect(ciRun({ test: passes(5), verify: passes(3), again: passes(0) })).toEqual({
      status: 0,
      lines: ["8 passed, 0 failed"],
    });
  });

  it("fails where a test failed that passes when its file runs once more, and says both", () => {
    const failure = "test/a.test.ts > counts: expected 1 to be 2";
    const { status, lines } = ciRun({ test: passes(5), verify: failsIn(failure), again: passes(8) });
    expect(status).toBe(1);
    expect(lines).toContain("npx vitest run test/a.test.ts");
    expect(lines.join("\n")).toContain("test/a.test.ts passed. The run has failed all the same.");
    expect(lines.slice(-3)).toEqual(["Failed:", `  ${failure}`, "12 passed, 1 failed"]);
  });

  it("says which tests fail when their files run alone too", () => {
    const [one, two] = ["test/a.test.ts > counts: broken", "test/b.test.ts: it breaks before its first test"];
    const { status, lines } = ciRun({ test: failsIn(one, two), verify: passes(1), again: failsIn(two) });
    expect(status).toBe(1);
    expect(lines).toContain("npx vitest run test/a.test.ts test/b.test.ts");
    expect(lines.slice(lines.indexOf("Alone, these failed too:"))).toEqual([
      "Alone, these failed too:",
      `  ${two}`,
      "Failed:",
      `  ${one}`,
      `  ${two}`,
      "8 passed, 2 failed",
    ]);
  });

  it.each([
    { why: "ends with an error although no test failed", run: { counts: ["5 0"], status: 2 } },
    { why: "runs no test", run: { counts: ["0 0"], status: 0 } },
    { why: "breaks before it counts", run: { counts: [], status: 0 } },
  ])("fails where a run $why", ({ run }) => {
    const { status, lines } = ciRun({ test: run, verify: passes(3), again: passes(0) });
    expect(status).toBe(1);
    expect(lines.at(-1)).toMatch(/^\d passed, 1 failed$/);
    expect(lines.join("\n")).toContain("npm test: exit code");
  });
});
