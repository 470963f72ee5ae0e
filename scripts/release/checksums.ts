import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** List of a release's files with their SHA-256 sums, in the form that `sha256sum --check` reads. */
export const sumsFile = "SHA256SUMS";

export function sha256Of(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

/** Writes the sums of these files of the directory, and answers them by name. */
export function writeSums(directory: string, names: readonly string[]): Map<string, string> {
  const sums = new Map(names.toSorted().map((name) => [name, sha256Of(join(directory, name))]));
  writeFileSync(join(directory, sumsFile), [...sums].map(([name, sum]) => `${sum}  ${name}\n`).join(""));
  return sums;
}

/** The sums that a release names. Throws where it has none. */
export function readSums(directory: string): Map<string, string> {
  const lines = readFileSync(join(directory, sumsFile), "utf8").matchAll(/^([0-9a-f]{64}) {2}(\S+)$/gm);
  return new Map([...lines].map(([, sum = "", name = ""]) => [name, sum]));
}
