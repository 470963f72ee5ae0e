import { expect, test } from "vitest";
import { runProgram } from "./support/run-program.ts";

const run = (...args: string[]) => runProgram(process.execPath, ["src/main.ts", ...args]);

test("help of a command is that command's own", async () => {
  const [help, flag] = await Promise.all([run("help", "plan"), run("plan", "--help")]);
  expect(help).toEqual(flag);
  expect(help).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("Usage: compute-operator plan (-f PATH... | -k DIR)"),
  });
});

test("help without a command lists the commands, and with an unknown one says that it does not exist", async () => {
  const [all, unknown] = await Promise.all([run("help"), run("help", "plant")]);
  expect(all).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("  plan        show what the operator would do"),
  });
  expect(unknown).toMatchObject({ status: 1, stderr: expect.stringContaining('there is no command "plant"') });
});
