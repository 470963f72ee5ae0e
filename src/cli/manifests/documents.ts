import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { type Document, isNode, LineCounter, parseAllDocuments } from "yaml";
import { isRecord } from "../../operator/objects/record.ts";
import { CommandProblem } from "../commands/ports.ts";
import type { Programs } from "../commands/programs.ts";
import { built, kustomizationsBelow } from "./kustomization.ts";

/** One object of a manifest file, as written. */
export interface ManifestObject {
  /** The file as it was named; `standard input` for `-`. */
  file: string;
  /** True if the file was found in a directory instead of named. */
  found: boolean;
  raw: unknown;
  /** `file:line` of a field, or of the closest field around it that exists. */
  where: (path?: readonly (string | number)[]) => string;
}

/** A file as it was read. The members as in `ManifestObject`. */
export interface ManifestText {
  file: string;
  found: boolean;
  text: string;
}

/** The objects of a file, items of Lists included, or the problems of reading it. */
export function objectsIn({ file, found, text }: ManifestText): { objects: ManifestObject[]; problems: string[] } {
  const lines = new LineCounter();
  const documents = [...parseAllDocuments(text, { lineCounter: lines })];
  // Of a document's syntax errors the first causes the others; a duplicate key is an error of its own.
  const problems = documents
    .flatMap(({ errors }) => errors.filter(({ code }, index) => index === 0 || code === "DUPLICATE_KEY"))
    .map((error) => `${file}:${lines.linePos(error.pos[0]).line}: not YAML: ${firstLine(error.message)}`);
  if (problems.length > 0) return { objects: [], problems };
  const objects: ManifestObject[] = [];
  for (const document of documents) {
    const locate = locator(file, document, lines);
    try {
      objects.push(...unpacked(document.toJS(), file, found, locate));
    } catch (error) {
      problems.push(`${locate([])}: not YAML: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { objects, problems };
}

type Path = readonly (string | number)[];

/** An empty document has no object; a List is replaced by its items. */
function unpacked(raw: unknown, file: string, found: boolean, locate: (path: Path) => string): ManifestObject[] {
  if (raw === null || raw === undefined) return [];
  if (isRecord(raw) && typeof raw.kind === "string" && raw.kind.endsWith("List") && Array.isArray(raw.items)) {
    const items: unknown[] = raw.items;
    return items.map((item, index) => ({
      file,
      found,
      raw: item,
      where: (path = []) => locate(["items", index, ...path]),
    }));
  }
  return [{ file, found, raw, where: (path = []) => locate(path) }];
}

/** Finds the line of a field, or of the closest field around it: one that is missing is reported at its parent. */
function locator(file: string, document: Document, lines: LineCounter): (path: Path) => string {
  return (path) => {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return `${file}:${lines.linePos(node.range[0]).line}`;
    }
    return file;
  };
}

/** Message of the YAML library, without the place: its lines count from the start of the text around it. */
function firstLine(text: string): string {
  return (text.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "");
}

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
