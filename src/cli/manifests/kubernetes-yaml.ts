import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Scalar,
  type YAMLMap,
} from "yaml";
import { plainScalar, type ScalarValue } from "./plain-scalar.ts";

/**
 * YAML as kubectl reads it (sigs.k8s.io/yaml, a fork of go-yaml 2): merge keys and most scalars are those of YAML 1.1.
 *
 * Expected flow: the parser is given `documentOptions`; `value` is what kubectl would send to the API server, `nodeAt`
 * the place and the text of a field of it.
 */
export class KubernetesYAML {
  readonly #document: Document;
  /** The node that each alias means: the last one before it with that anchor. */
  readonly #targets = new Map<Alias, Node>();
  /** Nodes that are being read: an alias of one of them has no end. */
  readonly #open = new Set<unknown>();
  #aliasDepth = 0;
  #aliased = 0;

  constructor(document: Document) {
    this.#document = document;
    this.#findTargets(document.contents, new Map());
  }

  /** The document as JSON. Throws `YAMLProblem` for what kubectl refuses too. */
  value(): unknown {
    this.#aliased = 0;
    return this.#read(this.#document.contents);
  }

  /** The node of a field, through aliases and merge keys. */
  nodeAt(path: readonly (string | number)[]): Node | undefined {
    return path.reduce<Node | undefined>(
      (node, step) => this.#memberOf(node, step),
      this.#document.contents ?? undefined,
    );
  }

  /** The text of a field without quotes, as written; `undefined` for any other. */
  plainAt(path: readonly (string | number)[]): string | undefined {
    const node = this.#resolved(this.nodeAt(path));
    return isScalar(node) && node.type === "PLAIN" ? node.source : undefined;
  }

  #findTargets(node: unknown, anchors: Map<string, Node>): void {
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target === undefined) throw new YAMLProblem(`the alias *${node.source} has no anchor before it`, node);
      this.#targets.set(node, target);
      return;
    }
    if (!isNode(node)) return;
    if ("anchor" in node && typeof node.anchor === "string") anchors.set(node.anchor, node);
    if (isSeq(node)) for (const item of node.items) this.#findTargets(item, anchors);
    if (!isMap(node)) return;
    for (const { key, value } of node.items) {
      this.#findTargets(key, anchors);
      this.#findTargets(value, anchors);
    }
  }

  #read(node: unknown): unknown {
    this.#count(node);
    if (isAlias(node)) return this.#within(node, () => this.#read(this.#targets.get(node)));
    if (isScalar(node)) return scalarOf(node);
    if (isSeq(node)) return this.#within(node, () => node.items.map((item) => this.#read(item)));
    if (isMap(node)) return this.#within(node, () => this.#readMap(node));
    // An item of a list with the tag !!omap.
    if (isPair(node)) return { [this.#keyOf(node.key)]: this.#read(node.value) };
    return null;
  }

  #count(node: unknown): void {
    if (this.#aliasDepth > 0) this.#aliased += 1;
    if (this.#aliased <= mostAliased) return;
    throw new YAMLProblem(`aliases repeat more than ${mostAliased} values: write them out`, node);
  }

  #readMap(map: YAMLMap): Record<string, unknown> {
    // The later of two wins, also where one of them comes by a merge key: so it is with kubectl.
    const members = new Map<string, unknown>();
    for (const { key, value } of map.items) {
      if (isMerge(key)) for (const source of this.#sources(value)) this.#merge(source, members);
      else members.set(this.#keyOf(key), this.#read(value));
    }
    return Object.fromEntries(members);
  }

  #merge(source: YAMLMap, into: Map<string, unknown>): void {
    const merged = this.#within(source, () => {
      this.#aliasDepth += 1;
      this.#count(source);
      const members = this.#readMap(source);
      this.#aliasDepth -= 1;
      return members;
    });
    for (const [key, value] of Object.entries(merged)) into.set(key, value);
  }

  /** The maps of a merge key, the one that wins last. */
  #sources(value: unknown): YAMLMap[] {
    const target = this.#resolved(value);
    if (isMap(target)) return [target];
    const maps = isSeq(target) ? target.items.map((item) => this.#resolved(item)) : [];
    if (isSeq(target) && maps.every((map) => isMap(map))) return maps.toReversed();
    throw new YAMLProblem("<< takes a map, or a list of maps", value);
  }

  #resolved(node: unknown): unknown {
    return isAlias(node) ? this.#resolved(this.#targets.get(node)) : node;
  }

  #within<T>(node: Node, read: () => T): T {
    if (this.#open.has(node)) throw new YAMLProblem("an anchor holds an alias of itself", node);
    this.#open.add(node);
    if (isAlias(node)) this.#aliasDepth += 1;
    const value = read();
    if (isAlias(node)) this.#aliasDepth -= 1;
    this.#open.delete(node);
    return value;
  }

  #keyOf(key: unknown): string {
    return keyOf(this.#resolved(key));
  }

  #memberOf(node: unknown, step: string | number): Node | undefined {
    const target = this.#resolved(node);
    if (isSeq(target)) return asNode(target.items[Number(step)]);
    if (!isMap(target)) return undefined;
    for (const { key, value } of target.items.toReversed()) {
      if (!isMerge(key)) {
        if (this.#keyOf(key) === String(step)) return asNode(value) ?? asNode(key);
        continue;
      }
      for (const source of this.#sources(value).toReversed()) {
        const member = this.#memberOf(source, step);
        if (member !== undefined) return member;
      }
    }
    return undefined;
  }
}

/** For the parser: it leaves scalars as text, and `<<` may stand in a map twice. */
export const documentOptions = {
  schema: "failsafe",
  logLevel: "silent",
  uniqueKeys: (a: unknown, b: unknown) => isScalar(a) && isScalar(b) && !isMerge(a) && a.value === b.value,
} as const;

/** Something that kubectl refuses too, and where. */
export class YAMLProblem extends Error {
  readonly node: unknown;

  constructor(message: string, node: unknown) {
    super(message);
    this.node = node;
  }
}

/** More values come by aliases in no manifest that people write; a handful of lines can ask for billions. */
const mostAliased = 400_000;

function asNode(value: unknown): Node | undefined {
  return isNode(value) ? value : undefined;
}

function isMerge(key: unknown): boolean {
  return isScalar(key) && key.type === "PLAIN" && key.source === "<<";
}

/** The key of a map in JSON. */
function keyOf(key: unknown): string {
  const value = isScalar(key) ? scalarOf(key) : undefined;
  if (value !== undefined && value !== null) return String(value);
  const kind = isScalar(key) ? "null" : "a map or a list";
  throw new YAMLProblem(`a key must be text, not ${kind}`, key);
}

const tagPrefix = "tag:yaml.org,2002:";

/** A scalar by its tag, else by the look of it where it has no quotes. */
function scalarOf(node: Scalar): ScalarValue {
  const { source: text = "", tag, type } = node;
  const name = tag?.startsWith(tagPrefix) === true ? tag.slice(tagPrefix.length) : undefined;
  if (name === "binary") return Buffer.from(text, "base64").toString("utf8");
  const wanted = typesOf[name ?? ""];
  if (wanted === undefined && type !== "PLAIN") return text;
  if (name === "str" || (tag !== undefined && wanted === undefined)) return text;
  const value = plainScalar(text);
  if (wanted !== undefined && typeof value !== wanted) throw new YAMLProblem(`${text} is no !!${name}`, node);
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new YAMLProblem(`${text} is no number that JSON has`, node);
}

/** The types of the tags that change how a scalar is read; any other makes it text. */
const typesOf: Readonly<Record<string, string>> = { int: "number", float: "number", bool: "boolean", null: "object" };
