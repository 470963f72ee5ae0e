import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

/** Runs one of the files that never end; the exit code and all that is said. */
function runOf(file: string): Promise<{ code: number; said: string }> {
  const config = join(import.meta.dirname, "progress-watch", "vitest.config.ts");
  return new Promise((resolve) => {
    const child = execFile("node_modules/.bin/vitest", ["run", "--config", config, file], (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, said: `${stdout}${stderr}` }),
    );
  });
}

it.concurrent.each([
  ["loop", "a test that never lets go"],
  ["microtasks", "a test that waits only for what is there"],
  ["import", "outside of any test"],
])("a file that never ends fails its run and is named: %s, %s", async (file, where) => {
  const { code, said } = await runOf(file);
  expect(said).toContain(`${file}.stuck.ts has done nothing new for 5 s and is ended: ${where}`);
  expect(code).toBe(1);
});

it.concurrent("a file that waits longer in all than one test may, and ends, passes", async () => {
  const { code, said } = await runOf("ends");
  expect(said).not.toContain("has done nothing new");
  expect(code).toBe(0);
});
