import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { CommandProblem } from "../commands/problem.ts";
import type { ManifestText } from "./documents.ts";

/** Reads everything that `-f` names, in a stable order. Throws `CommandProblem` if something cannot be read. */
export async function readManifests(paths: readonly string[], stdin: Readable): Promise<ManifestText[]> {
  const texts: ManifestText[] = [];
  for (const path of new Set(paths)) {
    if (path === "-") texts.push({ file: "standard input", found: false, text: await textOf(stdin) });
    else texts.push(...readPath(path));
  }
  return texts;
}

function readPath(path: string): ManifestText[] {
  try {
    if (!statSync(path).isDirectory()) return [{ file: path, found: false, text: readFileSync(path, "utf8") }];
    return manifestsBelow(path).map((file) => ({ file, found: true, text: readFileSync(file, "utf8") }));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandProblem([`${path} cannot be read (${why}). -f takes a file, a directory, or -.`], {
      cause: error,
    });
  }
}

/** The YAML and JSON files of a directory and its subdirectories; hidden ones are skipped. */
function manifestsBelow(directory: string): string[] {
  const entries = readdirSync(directory, { withFileTypes: true }).filter(({ name }) => !name.startsWith("."));
  return entries
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) return manifestsBelow(path);
      return /\.(ya?ml|json)$/.test(entry.name) ? [path] : [];
    });
}

async function textOf(stdin: Readable): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stdin) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString("utf8");
}
