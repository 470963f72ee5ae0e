import { type ParseArgsConfig, parseArgs } from "node:util";

/**
 * The flags of a program of the tests, by default those of this process. `--help` shows the usage; an unknown flag ends
 * the program with it.
 */
export function flagsOf<T extends ParseArgsConfig>(usage: string, config: T): ReturnType<typeof parseArgs<T>> {
  const { args = process.argv.slice(2) } = config;
  if (args.some((word) => word === "--help" || word === "-h")) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    return refuse(usage, error instanceof Error ? error.message : String(error));
  }
}

/** A whole number from `least` on; anything else ends the program, which would prove nothing with it. */
export function wholeNumber(usage: string, flag: string, value: string, least: number): number {
  const number = Number(value);
  if (/^[0-9]{1,15}$/.test(value) && number >= least) return number;
  return refuse(usage, `${flag} must be a whole number from ${least} on, not ${JSON.stringify(value)}`);
}

/** One part of several, counted from 1. */
export interface Shard {
  part: number;
  parts: number;
}

/** `K/N`: the Kth of N parts; anything else ends the program. */
export function shardOf(usage: string, value: string): Shard {
  const [, part, parts] = /^([0-9]{1,6})\/([0-9]{1,6})$/.exec(value)?.map(Number) ?? [];
  if (part !== undefined && parts !== undefined && part >= 1 && part <= parts) return { part, parts };
  return refuse(usage, `--shard must be K/N, the Kth of N parts, not ${JSON.stringify(value)}`);
}

/** The parts that were named, all of them if none was; an unknown one ends the program. */
export function partsOf(usage: string, named: readonly string[], known: readonly string[]): readonly string[] {
  const unknown = named.filter((name) => !known.includes(name));
  if (unknown.length > 0) return refuse(usage, `There is no ${unknown.join(", ")}.`);
  return named.length === 0 ? known : named;
}

function refuse(usage: string, message: string): never {
  console.error(`${message}\n\n${usage}`);
  process.exit(1);
}
