import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Child } from "./child.ts";
import { eventually } from "./eventually.ts";
import { runProgram } from "./run-program.ts";

/** A process that starts a child of its own and makes a directory, says which, and then only waits. */
const parent = `
  import { Child } from ${JSON.stringify(join(import.meta.dirname, "child.ts"))};
  import { temporaryDirectory } from ${JSON.stringify(join(import.meta.dirname, "guardian.ts"))};
  const child = await Child.start({ name: "sleep", command: "sleep", args: ["600"] });
  console.log("child " + child.pid + " directory " + temporaryDirectory("guardian").path);
  setInterval(() => undefined, 60_000);
`;

it.each(["SIGKILL", "SIGTERM", "SIGINT"] as const)("leaves no process and no directory behind a %s", async (signal) => {
  const args = ["--input-type=module-typescript", "--eval", parent];
  const started = await Child.start({ name: "parent", command: process.execPath, args });
  const [, pid, directory = ""] = await started.waitForLine(/^child (\d+) directory (.+)$/);
  expect(existsSync(directory)).toBe(true);
  started.signal(signal);
  await eventually("the child to be gone", () => (alive(Number(pid)) ? undefined : true));
  await eventually("the directory to be gone", () => (existsSync(directory) ? undefined : true));
});

it("starts nothing more once everything is ended, and says so", async () => {
  const script = `
    import { existsSync } from "node:fs";
    import { Child } from ${JSON.stringify(join(import.meta.dirname, "child.ts"))};
    import { endEverything, temporaryDirectory } from ${JSON.stringify(join(import.meta.dirname, "guardian.ts"))};
    import { runProgram } from ${JSON.stringify(join(import.meta.dirname, "run-program.ts"))};
    const { path } = temporaryDirectory("guardian");
    const child = await Child.start({ name: "sleep", command: "sleep", args: ["600"] });
    const program = runProgram("sleep", ["600"]);
    await endEverything();
    const refused = await Promise.allSettled([
      Child.start({ name: "sleep", command: "sleep", args: ["600"] }),
      new Promise(() => runProgram("sleep", ["600"])),
      new Promise(() => temporaryDirectory("guardian")),
    ]);
    const ends = [(await child.end).signal, (await program).status];
    console.log(JSON.stringify({ left: existsSync(path), ends, refused: refused.map(({ reason }) => String(reason)) }));
  `;
  const { stdout } = await runProgram(process.execPath, ["--input-type=module-typescript", "--eval", script]);
  const refusal = "Error: Nothing can be started any more: everything is being ended";
  expect(JSON.parse(stdout)).toEqual({
    left: false,
    ends: ["SIGKILL", 1],
    refused: [refusal, refusal, refusal],
  });
});

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
