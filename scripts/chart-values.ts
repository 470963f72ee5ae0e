import { readFileSync } from "node:fs";
import { isMap, isScalar, type Node, type Pair, parseDocument } from "yaml";
import { z } from "zod";

export interface ChartValue {
  /** As `--set` takes it, for example `image.tag`. */
  readonly path: string;
  readonly default: unknown;
  /** The comment above it. */
  readonly description: string;
}

interface Schema {
  readonly additionalProperties?: unknown;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
}
const schemaNode: z.ZodType<Schema> = z.lazy(() =>
  z.looseObject({ properties: z.record(z.string(), schemaNode).optional() }),
);

const directory = "deploy/helm/compute-operator";

/** Helm hands `global` to every chart that another includes; this one reads nothing of it. */
const ofHelm = "global";

/** Every value that the chart's schema knows, in its order; what lies within a map of free keys counts as one value. */
export function valuesOfSchema(): string[] {
  const root = schemaNode.parse(JSON.parse(readFileSync(`${directory}/values.schema.json`, "utf8")));
  const within = (node: Schema, path: readonly string[]): string[] =>
    node.properties === undefined
      ? [path.join(".")]
      : Object.entries(node.properties).flatMap(([key, inner]) => within(inner, [...path, key]));
  return within(root, []).filter((path) => path !== ofHelm);
}

/** Every value of the chart with its default and its comment in values.yaml. Throws where one has none. */
export function chartValues(): ChartValue[] {
  const known = new Set(valuesOfSchema());
  const { contents } = parseDocument(readFileSync(`${directory}/values.yaml`, "utf8"));
  return valuesIn(contents, [], known);
}

function valuesIn(node: Node | null, path: readonly string[], known: ReadonlySet<string>): ChartValue[] {
  if (!isMap<Node, Node | null>(node)) throw new Error(`${path.join(".")} is no value of values.schema.json`);
  return node.items.flatMap((pair, index) => {
    const inner = [...path, nameOf(pair)];
    const name = inner.join(".");
    if (!known.has(name)) return valuesIn(pair.value, inner, known);
    // The comment above the first key of a map belongs to the map.
    const comment = pair.key.commentBefore ?? (index === 0 ? node.commentBefore : undefined);
    if (comment === undefined || comment === null) throw new Error(`${name} has no comment in values.yaml`);
    const description = comment
      .split("\n")
      .map((line) => line.trim())
      .join(" ");
    return [{ path: name, default: pair.value?.toJSON() ?? null, description }];
  });
}

function nameOf({ key }: Pair<Node, Node | null>): string {
  if (!isScalar(key)) throw new Error("a key of values.yaml is no string");
  return String(key.value);
}
