import { atMostOne, BadFlag, type Command, newCommand, type Option, parsed, withFlags } from "../../command-line.ts";

/** Under these names the program is called: kubectl runs the second as `kubectl compute-operator`. */
const programs = ["compute-operator", "kubectl-compute_operator"] as const;

const shells = {
  bash: { script: bash, use: "source <(compute-operator completion bash)" },
  zsh: { script: zsh, use: "source <(compute-operator completion zsh)" },
  fish: { script: fish, use: "compute-operator completion fish | source" },
  // kubectl runs a program of this name for the words after `kubectl compute-operator`.
  kubectl: {
    script: kubectl,
    use: "compute-operator completion kubectl > kubectl_complete-compute_operator",
  },
} as const;

type Shell = keyof typeof shells;

const names = Object.keys(shells).join(", ");

export const completionSyntax = newCommand(
  "completion",
  `Prints a script with which a shell, or kubectl, completes commands and flags: ${names}.`,
  {
    usage: "SHELL",
    more: Object.values(shells)
      .map(({ use }) => `  ${use}`)
      .join("\n"),
  },
).argument("[shell...]", names);

/** `compute-operator completion SHELL`: the script for these commands. */
export function completionCommand(
  args: readonly string[],
  ports: { stdout: (text: string) => void; stderr: (text: string) => void },
  commands: readonly Command[],
): Promise<number> {
  return withFlags(completionSyntax, shellOf, args, ports, async (shell) => {
    ports.stdout(shells[shell].script(commands).trimEnd());
    return 0;
  });
}

function shellOf(args: readonly string[]): Shell {
  parsed(completionSyntax, args, {});
  const name = atMostOne(completionSyntax.args, "shell") ?? "";
  if (isShell(name)) return name;
  throw new BadFlag(`there is no completion for ${JSON.stringify(name)}: the shells are ${names}`);
}

function isShell(name: string): name is Shell {
  return Object.hasOwn(shells, name);
}

/** The words after `compute-operator`. */
function verbOf(command: Command): string {
  return command.name().replace(/^compute-operator /, "");
}

/** Spellings of a flag, the short form first. */
function wordsOf({ short, long }: Option): string[] {
  return [short, long].filter((word) => word !== undefined);
}

/** True if the shell offers files as the value: the help names it FILE, PATH or DIR. */
function takesFile({ flags }: Option): boolean {
  return /<(FILE|PATH|DIR)>/.test(flags);
}

/**
 * One `case` for each flag with a value, by the word before the cursor: its choices, files, or nothing; else the flags
 * of the command.
 */
function bash(commands: readonly Command[]): string {
  const cases = commands.flatMap((command) => {
    const verb = verbOf(command);
    const after = (options: readonly Option[]) =>
      options
        .flatMap(wordsOf)
        .map((word) => `${verb}:${word}`)
        .join("|");
    const valued = command.options.filter(({ required }) => required);
    const chosen = valued.filter(({ argChoices }) => argChoices !== undefined);
    const files = valued.filter(takesFile);
    const free = valued.filter((option) => !chosen.includes(option) && !files.includes(option));
    return [
      ...chosen.map((option) => `${after([option])}) words="${option.argChoices?.join(" ")}" ;;`),
      ...(files.length === 0 ? [] : [`${after(files)}) COMPREPLY=($(compgen -f -- "$word")); return ;;`]),
      ...(free.length === 0 ? [] : [`${after(free)}) return ;;`]),
      `${verb}:*) words="${command.options.flatMap(wordsOf).join(" ")} --help" ;;`,
    ];
  });
  return `_compute_operator() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(verbOf).join(" ")} help"
  else
    case "\${COMP_WORDS[1]}:$before" in
${cases.map((line) => `      ${line}`).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _compute_operator ${programs.join(" ")}
`;
}

/** zsh runs the completions of bash. */
function zsh(commands: readonly Command[]): string {
  return `autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
${bash(commands)}`;
}

/** A program that prints what kubectl offers, one a line, and that no file follows (`:4`). It uses that of bash. */
function kubectl(commands: readonly Command[]): string {
  return `#!/usr/bin/env bash
${bash(commands)}
COMP_WORDS=(compute-operator "$@")
COMP_CWORD=$#
_compute_operator
[ "\${#COMPREPLY[@]}" -eq 0 ] || printf '%s\\n' "\${COMPREPLY[@]}"
echo ":4"
`;
}

/** One `complete` line for each command and flag, for both names of the program. */
function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const verb = verbOf(command);
    const of = `-n '__fish_seen_subcommand_from ${verb}'`;
    const flags = command.options.map((option) => {
      const short = option.short === undefined ? "" : ` -s ${option.short.slice(1)}`;
      const values = option.argChoices === undefined ? "" : ` -xa '${option.argChoices.join(" ")}'`;
      const file = takesFile(option) ? " -rF" : " -x";
      const value = values === "" && option.required ? file : values;
      return `${of}${short} -l ${option.long?.slice(2)}${value} -d ${quoted(option.description)}`;
    });
    return [`-n __fish_use_subcommand -a ${verb} -d ${quoted(firstSentence(command.description()))}`, ...flags];
  });
  return programs.flatMap((program) => [`-f`, ...lines].map((line) => `complete -c ${program} ${line}`)).join("\n");
}

function firstSentence(text: string): string {
  return text.replaceAll("\n", " ").split(". ")[0] ?? "";
}

/** As fish reads a string in single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", String.raw`\'`)}'`;
}
