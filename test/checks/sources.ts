import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseSync } from "rolldown/utils";

/** One import, re-export, dynamic import or type taken from another module. */
export interface Import {
  from: string;
  /** A path below the root of the project, or the name of a package. */
  to: string;
  /** Erased before it runs. */
  typeOnly: boolean;
}

/** What a source reaches for that no import brings in. */
export interface GlobalUse {
  file: string;
  line: number;
  /** As written: `process`, `Date.now`, `new Date()`. */
  name: string;
}

export interface Source {
  file: string;
  imports: readonly Import[];
  globals: readonly GlobalUse[];
}

type Node = Readonly<Record<string, unknown>> & { type: string; start: number };

const root = join(import.meta.dirname, "..", "..");

/** Every module of the product, parsed. */
export function productSources(): Source[] {
  const files = globSync("src/**/*.ts", { cwd: root }).map((file) => file.replaceAll("\\", "/"));
  return files.toSorted().map((file) => parseSource(file, readFileSync(join(root, file), "utf8")));
}

/** The imports of tests and scripts, by their text: a parse of them all takes seconds. */
export function importsOfTests(): Pick<Source, "file" | "imports">[] {
  const files = globSync("{test,scripts}/**/*.ts", { cwd: root }).map((file) => file.replaceAll("\\", "/"));
  return files.map((file) => {
    const found = readFileSync(join(root, file), "utf8").matchAll(/(?:from|import\()\s*"(\.{1,2}\/[^"]+)"/g);
    return { file, imports: [...found].map(([, to = ""]) => ({ from: file, to: located(file, to), typeOnly: false })) };
  });
}

/** Reads one module; `file` is its path below the root. Throws where it does not parse. */
export function parseSource(file: string, text: string): Source {
  const { program, errors } = parseSync(file, text, { lang: "ts" });
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0]?.message}`);
  const imports: Import[] = [];
  const uses: { name: string; node: Node }[] = [];
  const bound = new Set<string>();
  for (const { node, parent, key } of nodesIn(program)) {
    const target = importedBy(node);
    if (target !== undefined) imports.push({ from: file, to: located(file, target.to), typeOnly: target.typeOnly });
    if (node.type !== "Identifier") continue;
    const name = String(node.name);
    if (binds(parent, key)) bound.add(name);
    else if (refers(parent, key)) uses.push({ name: shownAs(name, parent, key), node });
  }
  const line = ({ start }: Node) => text.slice(0, start).split("\n").length;
  const globals = uses
    .filter(({ node }) => !bound.has(String(node.name)))
    .map(({ name, node }) => ({ file, line: line(node), name }));
  return { file, imports, globals };
}

/** Every node below a value, with the node and the member that hold it. */
export function* nodesIn(
  value: unknown,
  parent?: Node,
  key = "",
): Generator<{ node: Node; parent: Node | undefined; key: string }> {
  if (Array.isArray(value)) {
    for (const item of value) yield* nodesIn(item, parent, key);
  } else if (isNode(value)) {
    yield { node: value, parent, key };
    for (const [name, child] of Object.entries(value)) yield* nodesIn(child, value, name);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function importedBy(node: Node): { to: string; typeOnly: boolean } | undefined {
  const source = isNode(node.source) && typeof node.source.value === "string" ? node.source.value : undefined;
  if (source === undefined) return undefined;
  switch (node.type) {
    case "ImportDeclaration":
      return {
        to: source,
        typeOnly: node.importKind === "type" || everySpecifierIsType(node.specifiers, "importKind"),
      };
    case "ExportNamedDeclaration":
      return {
        to: source,
        typeOnly: node.exportKind === "type" || everySpecifierIsType(node.specifiers, "exportKind"),
      };
    case "ExportAllDeclaration":
      return { to: source, typeOnly: node.exportKind === "type" };
    case "ImportExpression":
      return { to: source, typeOnly: false };
    case "TSImportType":
      return { to: source, typeOnly: true };
    default:
      return undefined;
  }
}

function everySpecifierIsType(specifiers: unknown, kind: string): boolean {
  if (!Array.isArray(specifiers) || specifiers.length === 0) return false;
  return specifiers.every((specifier) => isNode(specifier) && specifier[kind] === "type");
}

function located(file: string, target: string): string {
  return target.startsWith(".") ? relative(root, resolve(root, dirname(file), target)).replaceAll("\\", "/") : target;
}

/** Whether an identifier in this place gives a name to something of this module. */
function binds(parent: Node | undefined, key: string): boolean {
  if (parent === undefined) return false;
  if (key === "params" || key === "local") return true;
  if (key === "id") return true;
  if (parent.type === "Property" && key === "value") return false;
  return parent.type === "AssignmentPattern" && key === "left";
}

/** Whether an identifier in this place stands for a value, and not for a member's name or a type. */
function refers(parent: Node | undefined, key: string): boolean {
  if (parent === undefined) return false;
  if (key === "property" && parent.type === "MemberExpression") return parent.computed === true;
  if (key === "key") return parent.computed === true;
  if (key === "label" || key === "imported" || key === "exported") return false;
  return !parent.type.startsWith("TS") || parent.type === "TSAsExpression" || parent.type === "TSSatisfiesExpression";
}

/** `Date.now` in place of `Date` where that is what is reached for, and how it is called where it is. */
function shownAs(name: string, parent: Node | undefined, key: string): string {
  if (parent?.type === "MemberExpression" && key === "object" && isNode(parent.property) && parent.computed !== true) {
    return `${name}.${String(parent.property.name)}`;
  }
  if (parent?.type === "BinaryExpression" && parent.operator === "instanceof") return `instanceof ${name}`;
  if (key !== "callee" || !Array.isArray(parent?.arguments)) return name;
  return `${parent.type === "NewExpression" ? "new " : ""}${name}(${parent.arguments.length > 0 ? "…" : ""})`;
}
