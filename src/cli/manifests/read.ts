import { type Dirent, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { messageOf } from "../../operator/runtime/operational-error.ts";
import { CommandProblem } from "../commands/ports.ts";
import type { Programs } from "../commands/programs.ts";
import type { ManifestText } from "./documents.ts";
import { built } from "./kustomization.ts";

/** The manifests that `-f` and `-k` name. */
export interface ManifestTexts {
  texts: readonly ManifestText[];
  /** The directories of `-f` that hold kustomizations. */
  unbuilt: readonly string[];
}

/**
 * Reads everything that `-f` names, in a stable order, and what the kustomization of `-k` makes. Throws
 * `CommandProblem` if something cannot be read, and what `signal` says once it is aborted while standard input is read.
 */
export async function readManifests(
  { paths, kustomize }: { paths: readonly string[]; kustomize: string | undefined },
  { stdin, programs, signal }: { stdin: Readable; programs: Programs; signal: AbortSignal },
): Promise<ManifestTexts> {
  if (kustomize !== undefined) return { texts: [await built(kustomize, programs)], unbuilt: [] };
  const texts: ManifestText[] = [];
  const kustomized: string[] = [];
  for (const path of new Set(paths)) {
    if (path === "-")
      texts.push({ file: "standard input", found: false, text: await textOf(addAbortSignal(signal, stdin)) });
    else texts.push(...readPath(path));
    if (path !== "-" && statSync(path).isDirectory()) kustomized.push(...kustomizationsBelow(path));
  }
  return { texts, unbuilt: kustomized };
}

/** One file, or all manifests of a directory. Throws `CommandProblem` if something cannot be read. */
function readPath(path: string): ManifestText[] {
  try {
    if (!statSync(path).isDirectory()) return [{ file: path, found: false, text: decoded(readFileSync(path)) }];
    return manifestsBelow(path).map((file) => ({ file, found: true, text: decoded(readFileSync(file)) }));
  } catch (error) {
    const instead = /^https?:/.test(path) ? "; what a URL names: curl -fsSL URL | … -f -" : "";
    throw new CommandProblem(
      [`${path} cannot be read (${messageOf(error)}). -f takes a file, a directory, or -${instead}.`],
      {
        cause: error,
      },
    );
  }
}

/** The YAML and JSON files of a directory and its subdirectories. */
function manifestsBelow(directory: string): string[] {
  return entriesOf(directory).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return manifestsBelow(path);
    return /\.(ya?ml|json)$/.test(entry.name) ? [path] : [];
  });
}

/** The names that kustomize looks for. */
const fileNames: readonly string[] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/** The uppermost directories of this tree that hold a kustomization. */
function kustomizationsBelow(directory: string): string[] {
  const entries = entriesOf(directory);
  if (entries.some(({ name }) => fileNames.includes(name))) return [directory];
  const below = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
  return below.flatMap(kustomizationsBelow);
}

/** By name; hidden ones are skipped. */
function entriesOf(directory: string): Dirent[] {
  const entries = readdirSync(directory, { withFileTypes: true }).filter(({ name }) => !name.startsWith("."));
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

async function textOf(stdin: Readable): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stdin) parts.push(Buffer.from(part));
  return decoded(Buffer.concat(parts));
}

/** Text in UTF-8, or in UTF-16 as PowerShell writes it; a byte order mark says which. */
function decoded(bytes: Buffer): string {
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(bytes);
}
