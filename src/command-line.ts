import { Command, CommanderError, Help, Option } from "commander";
import { z } from "zod";

export type { Command, Option } from "commander";

/** The flags are wrong. The message says which one, and what is allowed. */
export class BadFlag extends Error {
  override name = "BadFlag";
}

const helpWidth = 80;

/** The command `compute-operator NAME`. Flags are added to it; `more` follows them in the help.
 * In both texts a line is a paragraph: the help wraps it. */
export function newCommand(name: string, about: string, { usage = "[flags]", more = "" } = {}): Command {
  return new Command(`compute-operator ${name}`)
    .usage(usage)
    .description(about)
    .helpOption("-h, --help", "show this")
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {} })
    .configureHelp({
      // Of a terminal that nobody has made wider.
      helpWidth,
      optionTerm: ({ flags }) => flags.replaceAll(/[<>]/g, ""),
      optionDescription: ({ description, required, defaultValue, defaultValueDescription }) =>
        required && defaultValue !== undefined
          ? `${description} (default ${defaultValueDescription ?? String(defaultValue)})`
          : description,
      styleTitle: (title) => (title === "Options:" ? "Flags:" : title),
      formatHelp: (command, helper) =>
        `${new Help().formatHelp(command, helper).trimEnd()}\n\n${helper.boxWrap(more, helpWidth)}`.trimEnd(),
    });
}

/** Parses a value; `flag` is for the message. Throws `BadFlag`. */
export type Parse<T> = (value: string, flag: string) => T;

/** A flag with a value; `choices` are offered by the completion of shells. */
export function flag<T>(flags: string, description: string, parse: Parse<T>, choices?: readonly string[]): Option {
  const option = new Option(flags, description);
  if (choices !== undefined) option.argChoices = [...choices];
  return option.argParser((value) => parse(value, option.long ?? flags));
}

/** A flag that can be repeated. The default counts only if the flag is not given at all. */
export function repeatable(flags: string, description: string, parse: Parse<string> = (value) => value): Option {
  const option = new Option(flags, `${description}; repeatable`);
  return option.argParser((value, before: readonly string[] | undefined) => [
    ...(before === undefined || before === option.defaultValue ? [] : before),
    parse(value, option.long ?? flags),
  ]);
}

/**
 * The values of the command's flags. `shape` has one field for each flag. `hint` says which flag to use, for a person
 * who wrote a value without one. Throws `BadFlag`, or a `CommanderError` if help is asked for.
 */
export function parsed<Shape extends z.ZodRawShape>(
  command: Command,
  args: readonly string[],
  shape: Shape,
  hint?: string,
): z.infer<z.ZodObject<Shape>> {
  try {
    refuseFlagsAsValues(command, args);
    command.parse(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError) || error.code === "commander.helpDisplayed") throw error;
    const stray = `'${command.args[0]}' belongs to no flag${hint === undefined ? "" : `: ${hint}`}`;
    const isStray = error.code === "commander.excessArguments";
    throw new BadFlag(isStray ? stray : error.message.replace(/^error: /, ""), { cause: error });
  }
  return z.strictObject(shape).parse(command.opts());
}

/** commander would take the next flag as the missing value. */
function refuseFlagsAsValues({ options }: Command, args: readonly string[]): void {
  for (const [index, word] of args.entries()) {
    const option = options.find(({ long, short, required }) => required && (word === long || word === short));
    const next = args[index + 1] ?? "";
    if (option === undefined || !/^-./.test(next)) continue;
    throw new BadFlag(`${word} needs a value. Write one that begins with a dash as ${option.long}=${next}`);
  }
}

/** Reads the flags and runs the command. Returns the exit status: 0 for help, 1 for wrong flags. */
export async function withFlags<Flags>(
  command: Command,
  read: (args: readonly string[]) => Flags,
  args: readonly string[],
  ports: { stdout: (text: string) => void; stderr: (text: string) => void },
  run: (flags: Flags) => Promise<number>,
): Promise<number> {
  let flags: Flags;
  try {
    flags = read(args);
  } catch (error) {
    if (error instanceof BadFlag) ports.stderr(`${command.name()}: ${error.message}\nSee ${command.name()} --help.`);
    else if (error instanceof CommanderError) ports.stdout(command.helpInformation());
    else throw error;
    return error instanceof BadFlag ? 1 : 0;
  }
  return run(flags);
}

/** The one argument that a command takes; `undefined`: none is given. Throws `BadFlag`. */
export function atMostOne(args: readonly string[], what: string): string | undefined {
  if (args.length > 1) throw new BadFlag(`one ${what} is taken, and here are more: ${args.join(", ")}`);
  return args[0];
}

/** A whole number within bounds. */
export function whole(least: number, most: number): Parse<number> {
  return (value, name) => {
    const number = Number(value);
    if (/^[0-9]{1,9}$/.test(value) && number >= least && number <= most) return number;
    throw new BadFlag(`${name} must be a whole number from ${least} to ${most}, not ${JSON.stringify(value)}`);
  };
}
