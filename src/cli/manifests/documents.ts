import { type Document, isNode, LineCounter, parseAllDocuments } from "yaml";
import { isRecord } from "../../operator/objects/record.ts";
import { documentOptions, KubernetesYAML, YAMLProblem } from "./kubernetes-yaml.ts";
import { oddCharacter } from "./yaml-characters.ts";

/** One object of a manifest file, as written. */
export interface ManifestObject {
  /** The file as it was named; `standard input` for `-`. */
  file: string;
  /** True if the file was found in a directory instead of named. */
  found: boolean;
  raw: unknown;
  /** `file:line` of a field, or of the closest field around it that exists. */
  where: (path?: readonly (string | number)[]) => string;
  /** The text of a field without quotes, as written; `undefined` for any other. */
  plain: (path: readonly (string | number)[]) => string | undefined;
}

/** A file as it was read. The members as in `ManifestObject`. */
export interface ManifestText {
  file: string;
  found: boolean;
  text: string;
}

/** The objects of a file, items of Lists included, or the problems of reading it. */
export function objectsIn({ file, found, text }: ManifestText): { objects: ManifestObject[]; problems: string[] } {
  const odd = oddCharacter(text);
  if (odd) {
    const line = text.slice(0, odd.at).split("\n").length;
    const what = `the character ${odd.written}, which kubectl refuses or takes for the end of a line`;
    return { objects: [], problems: [`${file}:${line}: not YAML: ${what}: write it so, in double quotes`] };
  }
  const lines = new LineCounter();
  const documents = [...parseAllDocuments(text, { ...documentOptions, lineCounter: lines })];
  // Of a document's syntax errors the first causes the others; a duplicate key is an error of its own.
  const problems = documents
    .flatMap(({ errors }) => errors.filter(({ code }, index) => index === 0 || code === "DUPLICATE_KEY"))
    .map(
      (error) =>
        `${file}:${lines.linePos(error.pos[0]).line}: not YAML: ${withHint(firstLine(error.message), text, error.pos[0])}`,
    );
  if (problems.length > 0) return { objects: [], problems };
  const objects: ManifestObject[] = [];
  for (const document of documents) {
    const place = (node: unknown) =>
      isNode(node) && node.range ? `${file}:${lines.linePos(node.range[0]).line}` : undefined;
    try {
      objects.push(...unpacked(document, file, found, place));
    } catch (error) {
      if (!(error instanceof YAMLProblem)) throw error;
      problems.push(`${place(error.node) ?? file}: not YAML: ${withHint(error.message, text, startOf(error.node))}`);
    }
  }
  return { objects, problems };
}

function startOf(node: unknown): number {
  return (isNode(node) ? node.range?.[0] : undefined) ?? 0;
}

type Path = readonly (string | number)[];

/** An empty document has no object; a List is replaced by its items. */
function unpacked(
  document: Document,
  file: string,
  found: boolean,
  place: (node: unknown) => string | undefined,
): ManifestObject[] {
  const yaml = new KubernetesYAML(document);
  const where = (path: Path): string =>
    // A field that is missing is reported at the closest one around it.
    place(yaml.nodeAt(path)) ?? (path.length === 0 ? file : where(path.slice(0, -1)));
  const objectsAt = (raw: unknown, root: Path): ManifestObject[] => {
    if (raw === null || raw === undefined) return [];
    if (isRecord(raw) && typeof raw.kind === "string" && raw.kind.endsWith("List") && Array.isArray(raw.items)) {
      const items: unknown[] = raw.items;
      return items.flatMap((item, index) => objectsAt(ofList(item, raw), [...root, "items", index]));
    }
    const plain = (path: Path) => yaml.plainAt([...root, ...path]);
    return [{ file, found, raw, where: (path = []) => where([...root, ...path]), plain }];
  };
  return objectsAt(yaml.value(), []);
}

/** An item as kubectl reads it: that of a ComputeList, as the API server answers, need not say that it is a Compute. */
function ofList(item: unknown, { apiVersion, kind }: Record<string, unknown>): unknown {
  const isNamed = !isRecord(item) || (item.kind ?? item.apiVersion ?? undefined) !== undefined || kind === "List";
  return isNamed ? item : { ...item, apiVersion, kind: String(kind).replace(/List$/, "") };
}

/** Message of the YAML library, without the place: its lines count from the start of the text around it. */
function firstLine(text: string): string {
  return (text.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "");
}

/** Adds a way out where the text shows the mistake, which is at `offset`. */
function withHint(message: string, text: string, offset: number): string {
  const template = /\{\{.*\}\}|\{%.*%\}/.exec(text)?.[0];
  if (template !== undefined) {
    return `${message}. ${template} is of a template: render it first, as with helm template`;
  }
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1).split("\n", 1)[0] ?? "";
  const variable = /\$\{[^}]+\}/.exec(line)?.[0];
  if (variable !== undefined) {
    return `${message}. ${variable} is a variable: replace it first, as with envsubst, or add quotes`;
  }
  const isSecondObject = message.startsWith("Unexpected flow-map-start");
  return isSecondObject ? "two objects follow each other: separate them by a line ---" : message;
}
