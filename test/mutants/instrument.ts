import { changesOf, isLog, type Position } from "./operators.ts";
import { child, codeBelow, type Node, parse } from "./syntax.ts";

/** One way in which one place of a source may be wrong. */
export interface Mutant {
  id: number;
  file: string;
  line: number;
  /** What encloses it, e.g. `Queue.add`. */
  within: string;
  /** The code as it is, on one line. */
  original: string;
  what: string;
  /** Which of those that are alike in all of the above, from 1 on. */
  occurrence: number;
  /** What it replaces, as offsets into the source, and what with. */
  start: number;
  end: number;
  code: string;
}

export interface Instrumented {
  /**
   * The source with all its mutants, each behind the switch `globalThis.__mutant(ID)`. A thread that is given the text
   * of a function has none, and no mutant is on there.
   */
  text: string;
  mutants: Mutant[];
}

/** Puts every mutant of a source into it; their ids begin at `firstId`. */
export function instrument(file: string, source: string, firstId: number): Instrumented {
  const mutants: Mutant[] = [];
  const alike = new Map<string, number>();
  const text = (node: Node) => source.slice(node.start, node.end);

  function add(node: Node, within: string, what: string, code: string, end = node.end): string {
    const original = text(node).replaceAll(/\s+/g, " ");
    const name = JSON.stringify([within, original, what]);
    const occurrence = (alike.get(name) ?? 0) + 1;
    alike.set(name, occurrence);
    const id = firstId + mutants.length;
    const line = source.slice(0, node.start).split("\n").length;
    mutants.push({ id, file, line, within, original, what, occurrence, start: node.start, end, code });
    return `globalThis.__mutant?.(${id})`;
  }

  function written(position: Position, within: string): string {
    const { node } = position;
    if (node.type === "ImportDeclaration" || isLog(node, text)) return text(node);
    const inner = nameWithin(node, position.parent, within);
    const inChain = node.type === "ChainExpression" || (position.inChain && isChained(position));
    let body = "";
    let at = node.start;
    for (const place of codeBelow(node)) {
      body += source.slice(at, place.node.start) + written({ ...place, parent: node, inChain }, inner);
      at = place.node.end;
    }
    body += source.slice(at, node.end);
    return withElement(position, withChanges({ ...position, inChain }, body, inner), within);
  }

  function withChanges(position: Position, body: string, within: string): string {
    const { node } = position;
    const changes = changesOf(position, text);
    if (changes.length === 0) return body;
    const isStatement = node.type.endsWith("Statement");
    return changes.reduce((code, change) => {
      const isOn = add(node, within, change.what, isStatement ? "{}" : `(${change.code})`);
      return isStatement ? `{ if (!${isOn}) ${code} }` : `(${isOn} ? ${change.code} : ${code})`;
    }, body);
  }

  /** An element of a list or an object that may be missing. */
  function withElement({ node, parent, key }: Position, body: string, within: string): string {
    const missing = parent?.type === "ArrayExpression" ? "[]" : "{}";
    const withComma = node.end + (/^\s*,/.exec(source.slice(node.end))?.[0].length ?? 0);
    const leftOut = () => add(node, within, "left out", "", withComma);
    if (node.type === "SpreadElement" && (key === "elements" || key === "properties")) {
      return `...(${leftOut()} ? ${missing} : ${body.slice(3)})`;
    }
    if (parent?.type === "ArrayExpression") return `...(${leftOut()} ? [] : [${body}])`;
    const isPlain = node.type === "Property" && node.kind === "init" && node.method !== true;
    if (parent?.type === "ObjectExpression" && isPlain) return `...(${leftOut()} ? {} : { ${body} })`;
    return body;
  }

  const root = parse(file, source);
  return { text: written({ node: root, key: "", parent: undefined, inChain: false }, ""), mutants };
}

/** Whether a node carries on the chain that its parent belongs to. */
function isChained({ key }: Position): boolean {
  return key === "object" || key === "callee" || key === "expression";
}

function nameWithin(node: Node, parent: Node | undefined, within: string): string {
  const name = nameOf(node, parent);
  if (name === undefined) return within;
  return within === "" ? name : `${within}.${name}`;
}

function nameOf(node: Node, parent: Node | undefined): string | undefined {
  switch (node.type) {
    case "FunctionDeclaration":
    case "ClassDeclaration":
      return identifier(child(node, "id"));
    case "MethodDefinition":
    case "PropertyDefinition":
      return identifier(child(node, "key"));
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      if (parent?.type === "VariableDeclarator") return identifier(child(parent, "id"));
      return parent?.type === "Property" ? identifier(child(parent, "key")) : undefined;
    default:
      return undefined;
  }
}

function identifier(node: Node | undefined): string | undefined {
  if (node?.type === "PrivateIdentifier") return `#${String(node.name)}`;
  return node?.type === "Identifier" ? String(node.name) : undefined;
}
