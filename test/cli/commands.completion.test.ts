import { spawnSync } from "node:child_process";
import { expect, it, test } from "vitest";
import { completionCommand } from "../../src/cli/commands/completion.ts";
import { planLine } from "../../src/cli/commands/flags.ts";
import { runLine } from "../../src/operator/flags.ts";

async function completion(...args: string[]): Promise<{ status: number; out: string; err: string }> {
  const out: string[] = [];
  const err: string[] = [];
  const ports = { stdout: (text: string) => out.push(text), stderr: (text: string) => err.push(text) };
  const status = await completionCommand(args, ports, [runLine, planLine]);
  return { status, out: out.join("\n"), err: err.join("\n") };
}

/** What bash offers after these words, the last of which is being typed. */
async function offered(...words: string[]): Promise<string[]> {
  const { out } = await completion("bash");
  const set = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}`;
  const script = `${out}\n${set}\n_compute_operator\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8" });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  return stdout.split("\n").filter((line) => line !== "");
}

it.each([
  [
    ["compute-operator", ""],
    ["run", "plan", "help"],
  ],
  [["compute-operator", "pl"], ["plan"]],
  [["compute-operator", "plan", "--kub"], ["--kubeconfig"]],
  [
    ["compute-operator", "plan", "--output", ""],
    ["text", "json", "markdown"],
  ],
  [["compute-operator", "plan", "--namespace", ""], []],
  [["compute-operator", "run", "-f", "package-l"], []],
  [["compute-operator", "plan", "-f", "package-l"], ["package-lock.json"]],
])("after %j bash offers %j", async (words, expected) => {
  expect(await offered(...words)).toEqual(expected);
});

test("fish gets each command and flag, with quotes that hold", async () => {
  const { status, out } = await completion("fish");
  expect(status).toBe(0);
  expect(out).toContain(
    "complete -c compute-operator -n __fish_use_subcommand -a plan -d 'Shows what the operator would do",
  );
  expect(out).toMatch(/^complete -c compute-operator .* -s f -l filename -rF -d '/m);
  expect(out).toMatch(/^complete -c kubectl-compute_operator .* -l output -xa 'text json markdown' -d '/m);
  expect(out).toContain(String.raw`the pod\'s service account`);
});

test("another shell is refused with the shells that there are", async () => {
  const { status, err } = await completion("tcsh");
  expect(status).toBe(1);
  expect(err).toContain(
    'compute-operator completion: there is no completion for "tcsh": the shells are bash, zsh, fish',
  );
});
