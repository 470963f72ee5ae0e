import { isDeepStrictEqual } from "node:util";
import { nameOf } from "../../operator/kube/objects.ts";
import { type Parsed, placeOf, type ValidationIssue } from "../../operator/objects/object.ts";
import { asRecord, isRecord } from "../../operator/objects/record.ts";
import { type Branch, brokenInBranch } from "../../operator/resources/branch.ts";
import type { Connection } from "../../operator/resources/cluster-service-connection.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import type { ComputePool } from "../../operator/resources/compute-pool.ts";
import { brokenWhenWritten } from "../../operator/resources/compute-spec.ts";
import { objectName } from "../../operator/resources/fields.ts";
import { API_KEY_SECRET_TYPE, API_VERSION, GROUP } from "../../operator/resources/names.ts";
import { brokenZones } from "../../operator/resources/schedule.ts";
import type { Secret } from "../../operator/resources/secret.ts";
import { allowedAt, unknownFields } from "./check-fields.ts";
import type { ManifestObject } from "./documents.ts";
import { hintFor, withValueAt } from "./hints.ts";
import { kinds, type OurKind, ourKinds } from "./kinds.ts";
import type { Running } from "./running.ts";
import { secretOf } from "./secret.ts";

/** An object of a manifest and its place. */
export interface Declared<T> {
  object: T;
  /** `file:line`. */
  where: string;
  /** The object that it changes in the cluster. */
  before?: T;
}

/** The content of all manifests that concerns the service. */
export interface Manifests {
  computes: Declared<Compute>[];
  pools: Declared<ComputePool>[];
  branches: Declared<Branch>[];
  connections: Declared<Connection>[];
  /** The labels of each namespace that is declared. */
  namespaces: Map<string, Readonly<Record<string, string>>>;
  secrets: Declared<Secret>[];
  /** Computes of the cluster that the manifests do not declare: they claim what they own. */
  others: readonly Compute[];
  /** Branches of the cluster that the manifests do not declare. */
  otherBranches: readonly Branch[];
  /** Pools, by `namespace/name`, without `replicas`: the number is the cluster's, where an autoscaler sets it. */
  unnumbered: Set<string>;
  /** The cluster that was read, if any. */
  running?: Running;
  /** One line for each thing that a person should know of the plan. */
  notes: string[];
  /** One line for each problem. */
  problems: string[];
}

/**
 * Sorts objects by kind and parses ours with the rules of the CRDs; other objects are ignored. `namespace` is that of
 * objects that name none; `undefined`: each has to name one.
 *
 * What `kubectl apply` would refuse becomes a problem, `file:line: Kind name: field: message`, and the object is left
 * out: an unknown field or kind, a value out of bounds, a name that is none. Of an object that is declared twice, each
 * further place is a problem. Never throws.
 */
export function sortManifests(objects: readonly ManifestObject[], namespace: string | undefined): Manifests {
  const all: Manifests = {
    computes: [],
    pools: [],
    branches: [],
    connections: [],
    namespaces: new Map(),
    secrets: [],
    others: [],
    otherBranches: [],
    unnumbered: new Set(),
    notes: [],
    problems: [],
  };
  for (const object of objects) sort(object, namespace, all);
  for (const list of [all.computes, all.pools, all.branches, all.connections, all.secrets]) {
    all.problems.push(...doubles<Branch | Compute | ComputePool | Connection | Secret>(list));
  }
  return all;
}

function sort(object: ManifestObject, namespace: string | undefined, all: Manifests): void {
  const { raw, found } = object;
  if (!isRecord(raw) || typeof raw.kind !== "string" || typeof raw.apiVersion !== "string") {
    // A directory may contain other files too; a file that was named is meant.
    if (!found) all.problems.push(`${object.where()}: not a Kubernetes object: it needs apiVersion, kind and metadata`);
    return;
  }
  const { kind, apiVersion } = raw;
  const ours = ourKinds.find((known) => known === kind);
  if (apiVersion === "v1" && kind === "Secret") {
    if (raw.type !== API_KEY_SECRET_TYPE) return;
    requireNamespace(object, raw, namespace, all);
    readSecret(object, raw, namespace, all);
    return;
  }
  if (apiVersion === "v1" && kind === "Namespace") {
    const { name, labels } = asRecord(raw.metadata);
    const strings = Object.entries(asRecord(labels)).filter(
      (label): label is [string, string] => typeof label[1] === "string",
    );
    if (typeof name === "string") all.namespaces.set(name, Object.fromEntries(strings));
    return;
  }
  const group = apiVersion.split("/")[0] ?? "";
  if (ours === undefined && group !== GROUP) return;
  if (ours === undefined || apiVersion !== API_VERSION) {
    const allowed = `${ourKinds.join(", ")} of ${API_VERSION}`;
    all.problems.push(`${object.where(["kind"])}: unknown kind ${kind} of ${apiVersion}: allowed are ${allowed}`);
    return;
  }
  if (ours !== "ClusterServiceConnection") requireNamespace(object, raw, namespace, all);
  const { problems } = all;
  switch (ours) {
    case "Compute":
      all.computes.push(...read(object, raw, ours, namespace, kinds.Compute.parse, problems));
      break;
    case "ComputePool":
      readPool(object, raw, namespace, all);
      break;
    case "Branch":
      all.branches.push(...read(object, raw, ours, namespace, kinds.Branch.parse, problems));
      break;
    case "ServiceConnection":
      all.connections.push(...read(object, raw, ours, namespace, kinds.ServiceConnection.parse, problems));
      break;
    case "ClusterServiceConnection":
      all.connections.push(...read(object, raw, ours, undefined, kinds.ClusterServiceConnection.parse, problems));
      break;
  }
}

/** The object if it fits; each field that does not becomes one of the problems. */
function read<T extends Branch | Compute | ComputePool | Connection>(
  { where, plain }: ManifestObject,
  raw: Record<string, unknown>,
  kind: OurKind,
  namespace: string | undefined,
  parse: (raw: unknown) => Parsed<T>,
  problems: string[],
): Declared<T>[] {
  const placed = inNamespace(raw, namespace);
  const label = `${kind} ${nameIn(placed)}`;
  const brokenOf = (given: Record<string, unknown>) => {
    const parsed = parse(withoutNulls(given));
    return { parsed, broken: parsed.ok ? [...namesIn(given), ...brokenIn(parsed.value)] : parsed.validationIssues };
  };
  const { parsed, broken } = brokenOf(placed);
  const unknown = unknownFields(kind, raw);
  // A union only repeats in other words that it does not know the field.
  const validationIssues = [...unknown, ...broken.filter(({ path, message }) => !isRepeated(path, message, unknown))];
  for (const { path, message } of validationIssues) {
    const vague = message === "Invalid input" ? allowedAt(kind, path) : undefined;
    const asText = (text: string) => {
      const { broken: still } = brokenOf(asRecord(withValueAt(placed, path, text)));
      return still.find((issue) => isDeepStrictEqual(issue.path, path))?.message;
    };
    const said = hintFor(kind, path, placed, { message, plain: plain(path), asText }) ?? vague ?? message;
    problems.push(`${where(path)}: ${label}: ${path.join(".") || "object"}: ${said}`);
  }
  return parsed.ok && validationIssues.length === 0 ? [{ object: parsed.value, where: where() }] : [];
}

function isRepeated(path: ValidationIssue["path"], message: string, unknown: readonly ValidationIssue[]): boolean {
  return message === "Invalid input" && unknown.some((issue) => isDeepStrictEqual(issue.path.slice(0, -1), path));
}

/** Rules for new manifests that one breaks; stored objects need not keep them. */
function brokenIn({ spec }: Compute | ComputePool | Connection | Branch): { path: string[]; message: string }[] {
  const below = (parent: readonly string[], broken: ReturnType<typeof brokenWhenWritten>) =>
    broken.map((issue) => ({ ...issue, path: [...parent, ...issue.path] }));
  if ("template" in spec) return below(["spec", "template"], brokenWhenWritten(spec.template));
  if ("expiry" in spec) return below(["spec"], brokenInBranch(spec));
  if ("baseURL" in spec) return below(["spec"], brokenZones(spec));
  return below(["spec"], brokenWhenWritten(spec));
}

function requireNamespace(
  { where }: ManifestObject,
  { kind, metadata }: Record<string, unknown>,
  namespace: string | undefined,
  { problems }: Manifests,
): void {
  const { namespace: own, name } = asRecord(metadata);
  if ((namespace ?? own ?? undefined) !== undefined) return;
  problems.push(
    `${where(["metadata"])}: ${String(kind)} ${String(name)}: metadata.namespace: --fleet needs it, because endpoints are recognised by namespace and name: add it, or set --namespace`,
  );
}

/** A pool without `replicas` is read as an empty one, until the cluster says its number. */
function readPool(
  object: ManifestObject,
  raw: Record<string, unknown>,
  namespace: string | undefined,
  all: Manifests,
): void {
  const spec = asRecord(raw.spec);
  const isNumbered = !isRecord(raw.spec) || (spec.replicas ?? undefined) !== undefined;
  const numbered = isNumbered ? raw : { ...raw, spec: { ...spec, replicas: 0 } };
  const pools = read(object, numbered, "ComputePool", namespace, kinds.ComputePool.parse, all.problems);
  all.pools.push(...pools);
  if (!isNumbered) for (const pool of pools) all.unnumbered.add(placeOf(pool.object.metadata));
}

/** Only Secrets with an API key are read: no other Secret of a manifest is looked into. */
function readSecret(
  object: ManifestObject,
  raw: Record<string, unknown>,
  namespace: string | undefined,
  all: Manifests,
): void {
  const secret = secretOf(withoutNulls(inNamespace(raw, namespace)));
  if (secret.ok) all.secrets.push({ object: secret.value, where: object.where() });
  else {
    const label = `Secret ${nameIn(inNamespace(raw, namespace))}`;
    for (const { path, message } of secret.validationIssues) {
      // A hint without the text: it may be a key.
      const said = object.plain(path) === undefined ? message : "must be text: add quotes";
      all.problems.push(`${object.where(path)}: ${label}: ${path.join(".") || "object"}: ${said}`);
    }
  }
}

/** An object that names no namespace gets this one. */
function inNamespace(raw: Record<string, unknown>, namespace: string | undefined): Record<string, unknown> {
  if (!isRecord(raw.metadata) || namespace === undefined) return raw;
  return { ...raw, metadata: { ...raw.metadata, namespace: raw.metadata.namespace ?? namespace } };
}

/** The API server treats a null field, as from a key with everything below it commented out, as omitted. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isRecord(value)) return value;
  const given = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(given.map(([key, inner]) => [key, withoutNulls(inner)]));
}

/** The API server's rules for names. */
function namesIn({ metadata }: Record<string, unknown>): { path: string[]; message: string }[] {
  const { name, namespace } = isRecord(metadata) ? metadata : {};
  const bad = (field: string, value: unknown) =>
    objectName.safeParse(value).success
      ? []
      : [
          {
            path: ["metadata", field],
            message: "must be lower-case letters, digits, - and ., for example shop-primary",
          },
        ];
  return [...bad("name", name), ...(namespace === undefined ? [] : bad("namespace", namespace))];
}

/** For a message, also of an object whose metadata cannot be read. */
function nameIn({ metadata }: Record<string, unknown>): string {
  const { name, namespace } = isRecord(metadata) ? metadata : {};
  return `${typeof namespace === "string" ? `${namespace}/` : ""}${typeof name === "string" ? name : "(no name)"}`;
}

/** A line for each object that stands at a second place; of two, neither would win. */
function doubles<T extends { kind?: string | undefined; metadata: { name: string; namespace?: string | undefined } }>(
  list: readonly Declared<T>[],
): string[] {
  const places = new Map<string, string>();
  return list.flatMap(({ object: { kind, metadata }, where }) => {
    const name = `${kind ?? "Secret"} ${nameOf(metadata)}`;
    const before = places.get(name);
    places.set(name, where);
    return before === undefined ? [] : [`${where}: ${name} is declared twice: it is also at ${before}`];
  });
}
