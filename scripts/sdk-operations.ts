import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseAst } from "rolldown/parseAst";
import { z } from "zod";
import type { PublicOperation, PublicSchema } from "../src/service/http/public-operation.ts";

// The vendor's SDK ships no OpenAPI file, but code and types that are generated from one: newer than the API client's.

const sdk = import.meta.resolve("@neon/sdk");
const read = (file: string) => readFileSync(fileURLToPath(new URL(`client/${file}`, sdk)), "utf8");

type Node = Readonly<Record<string, unknown>>;
const Node = z.record(z.string(), z.unknown());
const Nodes = z.array(Node);

/** The operations of the SDK, in its order. */
export function sdkOperations(): PublicOperation[] {
  const types = aliasesIn(read("types.gen.d.ts"));
  const code = read("sdk.gen.js");
  const calls =
    /^const (\w+) = \(options\) => \(options\??\.client \?\? client\)(?:\.\w+)?\.(get|post|put|patch|delete)\(/gm;
  return [...code.matchAll(calls)].flatMap(([, name = "", method = ""]) => {
    const data = types.get(`${name.charAt(0).toUpperCase()}${name.slice(1)}Data`);
    return data === undefined ? [] : [operationOf(name, method.toUpperCase(), data, types)];
  });
}

const Method = z.enum(["GET", "POST", "PATCH", "PUT", "DELETE"]);

function operationOf(operationId: string, method: string, data: Node, types: Types): PublicOperation {
  const members = membersOf(data);
  const query = [...membersOf(resolved(members.get("query")?.type, types)).keys()];
  const body = members.get("body")?.type;
  const hasBody = body !== undefined && body["type"] !== "TSNeverKeyword";
  return {
    method: Method.parse(method),
    path: String(Node.parse(members.get("url")?.type?.["literal"])["value"]),
    operationId,
    ...(query.length > 0 && { query }),
    ...(hasBody && { body: schemaOf(body, types, []) }),
  };
}

type Types = ReadonlyMap<string, Node>;

function aliasesIn(text: string): Types {
  const { body } = z.looseObject({ body: Nodes }).parse(parseAst(text, { lang: "dts" }));
  const declared = body.map((statement) => Node.safeParse(statement["declaration"]).data ?? statement);
  return new Map(
    declared.flatMap((node) =>
      node["type"] === "TSTypeAliasDeclaration"
        ? [[String(Node.parse(node["id"])["name"]), Node.parse(node["typeAnnotation"])] as const]
        : [],
    ),
  );
}

/** The properties of an object type by name. */
function membersOf(node: Node | undefined): Map<string, { type: Node; optional: boolean }> {
  if (node?.["type"] !== "TSTypeLiteral") return new Map();
  const properties = Nodes.parse(node["members"]).filter(({ type }) => type === "TSPropertySignature");
  return new Map(
    properties.map((property) => {
      const key = Node.parse(property["key"]);
      const type = Node.parse(Node.parse(property["typeAnnotation"])["typeAnnotation"]);
      return [String(key["name"] ?? key["value"]), { type, optional: property["optional"] === true }];
    }),
  );
}

function resolved(node: Node | undefined, types: Types): Node | undefined {
  const name = node?.["type"] === "TSTypeReference" ? referenceOf(node) : undefined;
  return name === undefined ? node : (types.get(name) ?? node);
}

function referenceOf(node: Node): string {
  return String(Node.parse(node["typeName"])["name"]);
}

/** A type as a schema; `{}`, which takes anything, where it says nothing about fields. */
function schemaOf(node: Node, types: Types, within: readonly string[]): PublicSchema {
  const inner = (value: unknown) => schemaOf(Node.parse(value), types, within);
  switch (node["type"]) {
    case "TSStringKeyword":
      return { type: "string" };
    case "TSNumberKeyword":
      return { type: "number" };
    case "TSBooleanKeyword":
      return { type: "boolean" };
    case "TSParenthesizedType":
      return inner(node["typeAnnotation"]);
    case "TSArrayType":
      return { type: "array", items: inner(node["elementType"]) };
    case "TSTypeLiteral":
      return objectOf(node, types, within);
    case "TSIntersectionType":
      return Nodes.parse(node["types"]).map(inner).reduce(withFieldsOf);
    case "TSUnionType":
      return unionOf(Nodes.parse(node["types"]));
    case "TSTypeReference":
      return referredBy(node, types, within);
    default:
      return {};
  }
}

function referredBy(node: Node, types: Types, within: readonly string[]): PublicSchema {
  const name = referenceOf(node);
  const [argument] = Nodes.parse(Node.safeParse(node["typeArguments"]).data?.["params"] ?? []);
  if (name === "Array" && argument) return { type: "array", items: schemaOf(argument, types, within) };
  const alias = types.get(name);
  return alias === undefined || within.includes(name) ? {} : schemaOf(alias, types, [...within, name]);
}

function objectOf(node: Node, types: Types, within: readonly string[]): PublicSchema {
  const members = [...membersOf(node)];
  // An index signature: names of the client's own.
  if (members.length === 0) return { type: "object" };
  const required = members.filter(([, { optional }]) => !optional).map(([name]) => name);
  return {
    type: "object",
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(members.map(([name, { type }]) => [name, schemaOf(type, types, within)])),
    additionalProperties: false,
  };
}

/** Texts to choose from; of any other union nothing is known. */
function unionOf(parts: readonly Node[]): PublicSchema {
  const texts = parts.map((part) => Node.safeParse(part["literal"]).data?.["value"]);
  return texts.every((text) => typeof text === "string") ? { type: "string", enum: texts } : {};
}

/** The schema of the older file, which has the bounds, with the fields and values that the newer one has besides. */
export function withFieldsOf(older: PublicSchema, newer: PublicSchema): PublicSchema {
  const { enum: values, ...rest } = older;
  const merged: PublicSchema = {
    ...rest,
    ...(values && newer.enum && { enum: [...new Set([...values, ...newer.enum])] }),
    // A newer text without a list of values takes any.
    ...(values && !newer.enum && newer.type !== "string" && { enum: values }),
  };
  if (older.items && newer.items) return { ...merged, items: withFieldsOf(older.items, newer.items) };
  if (!older.properties || !newer.properties) return merged;
  const names = new Set([...Object.keys(older.properties), ...Object.keys(newer.properties)]);
  const fields = [...names].map((name) => {
    const [one, other] = [older.properties?.[name], newer.properties?.[name]];
    return [name, one && other ? withFieldsOf(one, other) : (one ?? other ?? {})] as const;
  });
  return { ...merged, properties: Object.fromEntries(fields) };
}

/** The operations of both, the older ones first: a service serves also those that the newer API has given up. */
export function joinedOperations(older: readonly PublicOperation[], newer: readonly PublicOperation[]) {
  const lineOf = ({ method, path }: PublicOperation) => `${method} ${path.replaceAll(/\{\w+\}/g, "{}")}`;
  const byLine = new Map(newer.map((operation) => [lineOf(operation), operation]));
  const kept = older.map((operation): PublicOperation => {
    const other = byLine.get(lineOf(operation));
    const query = [...new Set([...(operation.query ?? []), ...(other?.query ?? [])])];
    const body = operation.body && other?.body ? withFieldsOf(operation.body, other.body) : operation.body;
    return { ...operation, ...(query.length > 0 && { query }), ...(body && { body }) };
  });
  const known = new Set(older.map(lineOf));
  return [...kept, ...newer.filter((operation) => !known.has(lineOf(operation)))];
}
