import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../../src/operator/command.ts";
import { realClock } from "../support/real-clock.ts";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "run-command-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** The warnings of an operator, outside of a cluster, that is stopped as soon as it starts. */
async function warnings(...args: string[]): Promise<string[]> {
  const kubeconfig = join(directory, "kubeconfig");
  const cluster = { server: "https://127.0.0.1:1" };
  const context = { cluster: "c", user: "u" };
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: "c", cluster }],
      users: [{ name: "u", user: {} }],
      contexts: [{ name: "x", context }],
      "current-context": "x",
    }),
  );
  const lines: string[] = [];
  const status = await runCommand(["--kubeconfig", kubeconfig, "--http-port", "0", ...args], {
    clock: realClock,
    random: () => 0,
    newID: () => "id",
    stdout: () => {},
    stderr: () => {},
    log: { write: (line) => void lines.push(line) },
    terminal: false,
    env: {},
    hostname: "laptop",
    signal: AbortSignal.abort(new Error("stopped")),
  });
  expect(status).toBe(0);
  const parsed: { level: string; message: string }[] = lines.map((line) => JSON.parse(line));
  return parsed.filter(({ level }) => level === "warn").map(({ message }) => message);
}

test.each([["--lease-name"], ["--lease-namespace"]])(
  "a lease that is named by %s where none is held is warned of: two would work side by side",
  async (flag) => {
    expect(await warnings(flag, "shard-a")).toEqual([expect.stringContaining("Add --leader-elect")]);
    expect(await warnings(flag, "shard-a", "--leader-elect")).toEqual([]);
  },
);

test("a lease that nobody named brings no warning", async () => {
  expect(await warnings()).toEqual([]);
});
