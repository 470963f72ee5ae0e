import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { messageOf } from "../error-message.ts";
import { Seed } from "./document.ts";
import { doublesIn } from "./doubles.ts";
import { BadSeed } from "./seed.ts";
import { mostMade, sizeOf } from "./size.ts";

/** Reads a seed from YAML. Throws `BadSeed` with one line for each invalid field and what it allows. */
export function parseSeed(yaml: string, name: string): Seed {
  let document: unknown;
  try {
    document = parse(yaml);
  } catch (error) {
    throw new BadSeed(`${name} is not YAML: ${firstLine(messageOf(error))}`, { cause: error });
  }
  if (document === null) {
    throw new BadSeed(`${name} is empty: a seed has accounts with their apiKeys, organizations and projects`);
  }
  const result = Seed.safeParse(document);
  const problems = result.success
    ? [...doublesIn(result.data), ...tooMuchIn(result.data)]
    : result.error.issues.map(({ path, message }) => `${path.join(".") || "the seed"}: ${inPlainWords(message)}`);
  if (result.success && problems.length === 0) return result.data;
  throw new BadSeed(`${name} is not a seed of the service:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
}

function tooMuchIn(seed: Seed): string[] {
  const size = sizeOf(seed);
  if (size <= mostMade) return [];
  return [
    `it would make ${size} objects, with the roles and databases that branches take over from their default branch: at most ${mostMade} are possible`,
  ];
}

/** A missing field is reported as such. */
function inPlainWords(message: string): string {
  const missing = /^Invalid input: expected (\w+), received undefined$/.exec(message);
  return missing?.[1] === undefined ? message : `is needed: ${missing[1]}`;
}

/** Reads a seed file. Throws `BadSeed`. */
export function readSeed(file: string): Seed {
  let yaml: string;
  try {
    yaml = readFileSync(file, "utf8");
  } catch (error) {
    throw new BadSeed(`cannot read the seed ${file}: ${messageOf(error)}`, { cause: error });
  }
  return parseSeed(yaml, file);
}

/** Without the lines of the file that the parser quotes, because they may contain keys. */
function firstLine(text: string): string {
  return (text.split("\n")[0] ?? "").replace(/:$/, "");
}
