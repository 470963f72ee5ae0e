import { spawnSync } from "node:child_process";
import { expect, it, test } from "vitest";
import { completionCommand, completionSyntax } from "../../src/cli/commands/completion.ts";
import { applySyntax, exportSyntax, planSyntax } from "../../src/cli/commands/flags.ts";
import { pluginSyntaxes } from "../../src/cli/plugin/flags.ts";
import { type Command, flag, newCommand } from "../../src/command-line.ts";
import { crdsSyntax, runSyntax } from "../../src/operator/flags.ts";
import { serviceSyntax } from "../../src/service/flags.ts";

/** A command with everything that a shell may stumble over. */
const odd = newCommand("odd", "Does what isn't usual, \\ included\nor not. Not more of it.")
  .addOption(flag("-c, --colour <NAME>", "the 'colour'", (text) => text, ["red", "blue"]))
  .option("-d, --directory <DIR>", "where")
  .option("--path <PATH>", "which")
  .option("--free <TEXT>", "any")
  .option("--yes", "do not ask", false);

async function completion(shell: string, commands: readonly Command[] = [runSyntax, planSyntax]) {
  const args = shell === "" ? [] : [shell];
  const out: string[] = [];
  const err: string[] = [];
  const ports = { stdout: (text: string) => out.push(text), stderr: (text: string) => err.push(text) };
  const status = await completionCommand(args, ports, commands);
  return { status, out: out.join("\n"), err: err.join("\n") };
}

/** What bash offers after these words, the last of which is being typed. */
async function offered(...words: string[]): Promise<string[]> {
  const { out } = await completion("bash", [runSyntax, planSyntax, odd]);
  const set = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}`;
  const script = `${out}\n${set}\n_compute_operator\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8" });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  return stdout.split("\n").filter((line) => line !== "");
}

it.each([
  [
    ["compute-operator", ""],
    ["run", "plan", "odd", "help"],
  ],
  [["compute-operator", "h"], ["help"]],
  [
    ["compute-operator", "odd", ""],
    ["-c", "--colour", "-d", "--directory", "--path", "--free", "--yes", "--help"],
  ],
  [
    ["compute-operator", "odd", "-c", ""],
    ["red", "blue"],
  ],
  [["compute-operator", "odd", "--colour", "b"], ["blue"]],
  [["compute-operator", "odd", "-d", "package-l"], ["package-lock.json"]],
  [["compute-operator", "odd", "--path", "package-l"], ["package-lock.json"]],
  [["compute-operator", "odd", "--free", ""], []],
  [["compute-operator", "odd", "--yes", "--y"], ["--yes"]],
  [["compute-operator", "plan", "--colour", "-"], expect.arrayContaining(["--fleet", "--help"])],
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

test("fish gets a line for each flag of a command, under both names of the program", async () => {
  const { out } = await completion("fish", [odd]);
  const of = "-n '__fish_seen_subcommand_from odd'";
  const lines = [
    "-f",
    String.raw`-n __fish_use_subcommand -a odd -d 'Does what isn\'t usual, \\ included or not'`,
    String.raw`${of} -s c -l colour -xa 'red blue' -d 'the \'colour\''`,
    `${of} -s d -l directory -rF -d 'where'`,
    `${of} -l path -rF -d 'which'`,
    `${of} -l free -x -d 'any'`,
    `${of} -l yes -d 'do not ask'`,
  ];
  const programs = ["compute-operator", "kubectl-compute_operator"];
  expect(out.split("\n")).toEqual(programs.flatMap((name) => lines.map((line) => `complete -c ${name} ${line}`)));
});

test("zsh runs the script of bash, which completes both names of the program", async () => {
  const { out: bash } = await completion("bash", [odd]);
  expect(bash.split("\n").at(-1)).toBe("complete -F _compute_operator compute-operator kubectl-compute_operator");
  const { out: zsh } = await completion("zsh", [odd]);
  expect(zsh).toBe(`autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${bash}`);
});

test.each<[string[], string]>([
  [["pl"], "plan\n:4\n"],
  [["plan", "--output", ""], "text\njson\nmarkdown\n:4\n"],
  [["plan", "--fleet", ""], ":4\n"],
])("the program that kubectl runs for %j prints what it offers and that no file follows", async (words, offers) => {
  const { out } = await completion("kubectl");
  const { stdout, stderr, status } = spawnSync(
    "bash",
    ["--norc", "-c", out, "kubectl_complete-compute_operator", ...words],
    {
      encoding: "utf8",
    },
  );
  expect({ stdout, stderr, status }).toEqual({ stdout: offers, stderr: "", status: 0 });
});

test("the help says how each shell takes its script", () => {
  const help = completionSyntax.helpInformation();
  expect(help).toContain("Usage: compute-operator completion SHELL\n");
  expect(help).toContain(
    "Prints a script with which a shell, or kubectl, completes commands and flags:\nbash, zsh, fish, kubectl.",
  );
  expect(help).toMatch(/<?shell>? +bash, zsh, fish, kubectl\n/);
  expect(help.trimEnd().split("\n").slice(-4)).toEqual([
    "  source <(compute-operator completion bash)",
    "  source <(compute-operator completion zsh)",
    "  compute-operator completion fish | source",
    "  compute-operator completion kubectl > kubectl_complete-compute_operator",
  ]);
});

test("another shell is refused with the shells that there are", async () => {
  const { status, err } = await completion("tcsh");
  expect(status).toBe(1);
  expect(err).toContain(
    'compute-operator completion: there is no completion for "tcsh": the shells are bash, zsh, fish, kubectl',
  );
});

test.each([
  ["bash zsh", "one shell is taken, and here are more: bash, zsh"],
  ["--frobnicate", "unknown option '--frobnicate'"],
  ["bash --frobnicate", "unknown option '--frobnicate'"],
])("completion %s is refused, and nothing is printed for a shell", async (words, message) => {
  const [out, err]: [string[], string[]] = [[], []];
  const ports = { stdout: (text: string) => void out.push(text), stderr: (text: string) => void err.push(text) };
  expect(await completionCommand(words.split(" "), ports, [runSyntax])).toBe(1);
  expect(out).toEqual([]);
  expect(err.join("\n")).toContain(message);
});

test.each([
  runSyntax,
  crdsSyntax,
  serviceSyntax,
  planSyntax,
  applySyntax,
  exportSyntax,
  completionSyntax,
  ...pluginSyntaxes,
])("the help of $_name fits a terminal of 80 columns", (command) => {
  expect(
    command
      .helpInformation()
      .split("\n")
      .filter(({ length }) => length > 80),
  ).toEqual([]);
});
