import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { Seed } from "./document.ts";
import { BadSeed } from "./plant.ts";

/** Reads a seed from YAML. Throws `BadSeed` with every field that is wrong and what it allows. */
export function parseSeed(yaml: string, name: string): Seed {
  let document: unknown;
  try {
    document = parse(yaml);
  } catch (error) {
    throw new BadSeed(`${name} is not YAML: ${messageOf(error)}`, { cause: error });
  }
  const result = Seed.safeParse(document ?? {});
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new BadSeed(`${name} is not a seed of the service: ${problems.join("; ")}`);
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
