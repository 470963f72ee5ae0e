import { getEventListeners } from "node:events";
import { chmodSync, symlinkSync } from "node:fs";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { CommandProblem, readLine } from "../../src/cli/commands/ports.ts";
import { systemPrograms } from "../../src/cli/commands/programs.ts";
import { Stage } from "./command-stage.ts";

/** What is read of these parts, after which standard input ends, or stays open. */
async function read(parts: readonly string[], ends: boolean): Promise<string> {
  const stdin = new PassThrough();
  for (const part of parts) stdin.write(part);
  if (ends) stdin.end();
  const { signal } = new AbortController();
  const line = await readLine(stdin, signal);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  return line;
}

test.each<[string[], boolean, string]>([
  [["yes\n"], false, "yes"],
  [["y", "es", "\n"], false, "yes"],
  [[" yes \r\nno\n"], false, "yes"],
  [["yes"], true, "yes"],
  [["\nyes\n"], false, ""],
  [[], true, ""],
])("the first line is read of %j, with an end %j", async (parts, ends, line) => {
  expect(await read(parts, ends)).toBe(line);
});

test("a question that is interrupted is answered with nothing, and standard input is let go", async () => {
  const stdin = new PassThrough();
  stdin.write("ye");
  const stopping = new AbortController();
  const line = readLine(stdin, stopping.signal);
  setImmediate(() => stopping.abort());
  expect(await line).toBe("");
  expect(stdin.destroyed).toBe(true);
});

test("standard input that breaks is an error, not an answer", async () => {
  const stdin = new PassThrough();
  const line = readLine(stdin, new AbortController().signal);
  setImmediate(() => stdin.destroy(new Error("EIO: i/o error, read")));
  await expect(line).rejects.toThrow("EIO");
});

test("a problem has its lines, and its cause", () => {
  const cause = new Error("why");
  const problem = new CommandProblem(["one", "two"], { cause });
  expect(problem).toMatchObject({ name: "CommandProblem", message: "one\ntwo", lines: ["one", "two"], cause });
});

test("a program that a signal ends has failed, and one that cannot be run is an error", async () => {
  using stage = new Stage();
  symlinkSync("/bin/sh", `${stage.directory}/shell`);
  chmodSync(stage.file("denied", "#!/bin/sh\n"), 0o644);
  const programs = systemPrograms({ PATH: stage.directory, SEEN: "yes" });
  expect(await programs.run("shell", ["-c", 'echo "$SEEN"; kill -9 $$'])).toEqual({
    status: 1,
    stdout: "yes\n",
    stderr: "",
  });
  expect(await programs.handOver("shell", ["-c", "kill -9 $$"], {})).toBe(1);
  expect(await programs.handOver("shell", ["-c", '[ "$SEEN$MORE" = yesmore ]'], { MORE: "more" })).toBe(0);
  await expect(programs.run("denied", [])).rejects.toThrow("EACCES");
  await expect(programs.handOver("denied", [], {})).rejects.toThrow("EACCES");
});
