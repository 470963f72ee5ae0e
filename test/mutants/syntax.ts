import { parseSync } from "rolldown/utils";

/** A node of a parsed source; `start` and `end` are offsets into its text. */
export type Node = Readonly<Record<string, unknown>> & { type: string; start: number; end: number };

/** The whole source as one node. Throws where it does not parse. */
export function parse(file: string, text: string): Node {
  const { program, errors } = parseSync(file, text, { lang: "ts" });
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0]?.message}`);
  const root: unknown = program;
  if (!isNode(root)) throw new Error(`${file} has no program`);
  return { ...root, start: 0, end: text.length };
}

export function isNode(value: unknown): value is Node {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    typeof value.type === "string" &&
    "start" in value &&
    typeof value.start === "number"
  );
}

/** The member of a node under this name, where it is a node. */
export function child(node: Node | undefined, key: string): Node | undefined {
  const value = node?.[key];
  return isNode(value) ? value : undefined;
}

export interface Place {
  node: Node;
  /** The name under which the parent has it. */
  key: string;
}

/** The nodes directly below this one that are code and not types, in the order of the text, none inside another. */
export function codeBelow(node: Node): Place[] {
  const places: Place[] = [];
  for (const [key, value] of Object.entries(node)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (isNode(item) && !isType(item)) places.push({ node: item, key });
    }
  }
  let end = node.start;
  return places
    .toSorted((a, b) => a.node.start - b.node.start || b.node.end - a.node.end)
    .filter((place) => {
      // A shorthand property has key and value in one place.
      if (place.node.start < end) return false;
      end = place.node.end;
      return true;
    });
}

const codeOfTypes = new Set(["TSAsExpression", "TSSatisfiesExpression", "TSNonNullExpression"]);

function isType({ type }: Node): boolean {
  return type.startsWith("TS") && !codeOfTypes.has(type);
}

/** What is left of an expression without parentheses and assertions about its type. */
export function bare(node: Node): Node {
  const inner =
    node.type === "ParenthesizedExpression" || codeOfTypes.has(node.type) ? child(node, "expression") : undefined;
  return inner === undefined ? node : bare(inner);
}
