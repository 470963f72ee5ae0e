import { bare, child, isNode, type Node, type Place } from "./syntax.ts";

/** A change to one expression or statement, in words and as code. */
export interface Change {
  /** E.g. `force true`; with the text of the node it is the mutant's name. */
  what: string;
  /** The code in its place. */
  code: string;
}

/** Where a node stands. */
export interface Position extends Place {
  parent: Node | undefined;
  /** Part of `a?.b.c`, which is evaluated as a whole. */
  inChain: boolean;
}

const relational: Readonly<Record<string, string>> = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" };
const opposite: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "==": "!=",
  "!=": "==",
  "<": ">=",
  "<=": ">",
  ">": "<=",
  ">=": "<",
};
const arithmetic: Readonly<Record<string, string>> = { "+": "-", "-": "+", "*": "/", "/": "*", "%": "*" };
const swappedInMath = new Map([
  ["min", "max"],
  ["max", "min"],
]);
const swappedMethods = new Map([
  ["some", "every"],
  ["every", "some"],
  ["startsWith", "endsWith"],
  ["endsWith", "startsWith"],
]);
const droppedMethods = new Set(["filter", "toSorted", "toReversed", "slice", "trim", "toLowerCase"]);

/** Every way in which this node may be wrong; `text` gives the source of a node. */
export function changesOf(position: Position, text: (node: Node) => string): Change[] {
  const { node, parent, key, inChain } = position;
  if (isLog(node, text)) return [];
  const changes = [...forced(node, parent, key), ...returned(node, parent, key), ...dropped(node)];
  switch (node.type) {
    case "BinaryExpression":
      changes.push(...compared(node, decides(parent, key), text));
      break;
    case "LogicalExpression": {
      const [left, right] = [operand(node, "left", text), operand(node, "right", text)];
      if (node.operator === "??") changes.push({ what: "without ??", code: left });
      else {
        const other = node.operator === "&&" ? "||" : "&&";
        changes.push({ what: `${String(node.operator)} → ${other}`, code: `(${left}) ${other} (${right})` });
      }
      break;
    }
    case "UnaryExpression":
      if (node.operator === "!" || node.operator === "-")
        changes.push({ what: `without ${node.operator}`, code: operand(node, "argument", text) });
      break;
    case "Literal":
      if (typeof node.value === "boolean") changes.push({ what: `→ ${!node.value}`, code: `${!node.value}` });
      break;
    case "AwaitExpression":
      changes.push({ what: "without await", code: operand(node, "argument", text) });
      break;
    case "AssignmentExpression": {
      const other = { "+=": "-=", "-=": "+=", "??=": "=" }[String(node.operator)];
      if (other !== undefined) {
        const code = `${operand(node, "left", text)} ${other} ${operand(node, "right", text)}`;
        changes.push({ what: `${String(node.operator)} → ${other}`, code });
      }
      break;
    }
    case "CallExpression":
      if (!inChain) changes.push(...called(node, text));
      break;
    default:
  }
  return changes;
}

/** Log lines are for people, and no test checks all of them. */
export function isLog(node: Node, text: (node: Node) => string): boolean {
  const call = node.type === "ExpressionStatement" ? child(node, "expression") : node;
  const callee = call?.type === "CallExpression" ? child(call, "callee") : undefined;
  return callee !== undefined && /(?:^|[.#])log(?:ger)?\??\.(?:trace|debug|info|warn|error)$/.test(text(callee));
}

function operand(node: Node, key: string, text: (node: Node) => string): string {
  const found = child(node, key);
  return found === undefined ? "" : text(found);
}

const conditions: Readonly<Record<string, readonly string[]>> = {
  IfStatement: ["true", "false"],
  ConditionalExpression: ["true", "false"],
  // For ever true it would never end.
  WhileStatement: ["false"],
  DoWhileStatement: ["false"],
  ForStatement: ["false"],
};

/** Whether the node is the whole condition of a branch. */
function decides(parent: Node | undefined, key: string): boolean {
  return key === "test" && parent !== undefined && parent.type in conditions;
}

function forced(node: Node, parent: Node | undefined, key: string): Change[] {
  if (!decides(parent, key) || node.type === "Literal") return [];
  return (conditions[parent?.type ?? ""] ?? []).map((code) => ({ what: `force ${code}`, code }));
}

function returned(node: Node, parent: Node | undefined, key: string): Change[] {
  const isResult =
    (parent?.type === "ReturnStatement" && key === "argument") ||
    (parent?.type === "ArrowFunctionExpression" && key === "body" && node.type !== "BlockStatement");
  if (!isResult) return [];
  const result = bare(node);
  if (result.type === "Identifier" && result.name === "undefined") return [];
  if (result.type === "Literal" && typeof result.value === "boolean") return [];
  if (result.type === "ArrayExpression") return isEmpty(result.elements) ? [] : [{ what: "return []", code: "[]" }];
  return [{ what: "return undefined", code: "undefined" }];
}

function isEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0;
}

/** Statements that may be left out. */
function dropped(node: Node): Change[] {
  const left = [{ what: "left out", code: "" }];
  switch (node.type) {
    case "ExpressionStatement": {
      const expression = child(node, "expression");
      const done = expression?.type === "AwaitExpression" ? child(expression, "argument") : expression;
      if (done === undefined || typeof node.directive === "string") return [];
      if (done.type === "CallExpression" && child(done, "callee")?.type === "Super") return [];
      return left;
    }
    case "ThrowStatement":
    case "ContinueStatement":
      return left;
    case "ReturnStatement":
      return child(node, "argument") === undefined ? left : [];
    default:
      return [];
  }
}

function compared(node: Node, isCondition: boolean, text: (node: Node) => string): Change[] {
  const [left, right] = [operand(node, "left", text), operand(node, "right", text)];
  const operator = String(node.operator);
  const others = [relational[operator], isCondition ? undefined : opposite[operator], arithmetic[operator]];
  // What joins strings adds up to nothing else.
  if (operator === "+" && [child(node, "left"), child(node, "right")].some(isText)) return [];
  return others.flatMap((other) =>
    other === undefined ? [] : [{ what: `${operator} → ${other}`, code: `${left} ${other} ${right}` }],
  );
}

function isText(node: Node | undefined): boolean {
  return node?.type === "TemplateLiteral" || (node?.type === "Literal" && typeof node.value === "string");
}

function called(node: Node, text: (node: Node) => string): Change[] {
  const callee = child(node, "callee");
  const property = child(callee, "property");
  const object = child(callee, "object");
  if (callee?.type !== "MemberExpression" || callee.computed === true || !object || property?.type !== "Identifier")
    return [];
  const name = String(property.name);
  const args = (Array.isArray(node.arguments) ? node.arguments : []).filter(isNode).map(text).join(", ");
  const target = text(object);
  const other = (target === "Math" ? swappedInMath : swappedMethods).get(name);
  if (other !== undefined) return [{ what: `${name} → ${other}`, code: `${target}.${other}(${args})` }];
  return droppedMethods.has(name) ? [{ what: `without ${name}`, code: target }] : [];
}
