import { z } from "zod";
import { shareWithin } from "./shared-values.ts";

const ownerReference = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
});

export type OwnerReference = z.output<typeof ownerReference>;

const strings = z.record(z.string(), z.string());

/**
 * Metadata as the API server sends it, as far as the operator reads it; a manifest that was never stored reads with an
 * empty uid and resourceVersion. Of two versions only `isNewer` (kube/store.ts) may be asked. Times are RFC 3339.
 * `deletionTimestamp` is set as soon as a deletion was requested.
 */
export const objectMeta = z.object({
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string().default(""),
  resourceVersion: z.string().default(""),
  generation: z.number().optional(),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  labels: strings.optional(),
  annotations: strings.optional(),
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z.array(ownerReference).optional(),
});

export type ObjectMeta = z.output<typeof objectMeta>;

/** Any object of the API server. */
export interface KubeObject {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  metadata: ObjectMeta;
}

/** `namespace/name`; the namespace is empty where an object has none. */
export function placeOf({ namespace = "", name }: Pick<ObjectMeta, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

/** The generation of the spec; 0 for an object that was never stored. */
export function generationOf({ metadata }: Pick<KubeObject, "metadata">): number {
  return metadata.generation ?? 0;
}

/** True if a deletion was requested: the object goes once its finalizers have gone. */
export function isBeingDeleted({ metadata }: Pick<KubeObject, "metadata">): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** True if the object carries this finalizer. */
export function isHeldBy({ metadata }: Pick<KubeObject, "metadata">, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) === true;
}

/** Kubernetes' own finalizer, of `kubectl delete --cascade=orphan`. */
export const orphanFinalizer = "orphan";

/**
 * True while the garbage collector is to take a deleted object off its dependents as their owner: until it has, nobody
 * knows which of them stay.
 */
export function orphansDependents(object: Pick<KubeObject, "metadata">): boolean {
  return isBeingDeleted(object) && isHeldBy(object, orphanFinalizer);
}

/** Orders objects by age, then by uid: the first of several claimants wins. */
export function olderFirst(a: Pick<KubeObject, "metadata">, b: Pick<KubeObject, "metadata">): number {
  const age = (a.metadata.creationTimestamp ?? "").localeCompare(b.metadata.creationTimestamp ?? "");
  return age || (a.metadata.uid < b.metadata.uid ? -1 : 1);
}

/** A kind of object and where the API server serves it. */
export interface ResourceKind<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** As in the path, e.g. `computes`. */
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Never present: ties the type of the objects to their kind for the compiler. */
  readonly objectType?: T;
}

/** One field that does not fit, and why. */
export interface ValidationIssue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** The outcome of reading something whose shape others decide. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string; readonly validationIssues: readonly ValidationIssue[] };

/**
 * A schema for reading what an older or newer operator wrote, or a person: a field that does not fit reads as absent.
 * All fields of a status are optional, so that no status keeps an object from being reconciled.
 */
export function tolerant<S extends z.ZodObject>(status: S) {
  return status.catch(({ value }) => status.parse(readable(status, value)));
}

function readable(status: z.ZodObject, raw: unknown): object {
  if (typeof raw !== "object" || raw === null) return {};
  const fields = new Map<string, unknown>(Object.entries(raw));
  const fitting = Object.entries(status.shape).filter(([name, field]) => field.safeParse(fields.get(name)).success);
  return Object.fromEntries(fitting.map(([name]) => [name, fields.get(name)]));
}

/** Reads `raw` with `schema`; the problem names each field that does not fit. Never throws. */
export function parseWith<T>(schema: z.ZodType<T>, raw: unknown): Parsed<T> {
  const result = schema.safeParse(raw);
  if (result.success) return { ok: true, value: result.data };
  const validationIssues = result.error.issues.flatMap(meant);
  const problem = validationIssues
    .map(({ path, message }) => (path.length > 0 ? `${path.join(".")}: ${message}` : message))
    .join("; ");
  return { ok: false, problem, validationIssues };
}

/** Of a union the issues of the one member that knows all given fields; without such a member, that none fits. */
function meant(issue: z.core.$ZodIssue): ValidationIssue[] {
  const path = issue.path.map(step);
  const fitting =
    issue.code === "invalid_union"
      ? issue.errors.filter((member) =>
          member.every((inner) => inner.code !== "unrecognized_keys" && inner.path.length > 0),
        )
      : [];
  const [only, another] = fitting;
  if (only === undefined || another !== undefined) return [{ path, message: issue.message }];
  return only.flatMap(meant).map((inner) => ({ ...inner, path: [...path, ...inner.path] }));
}

function step(key: PropertyKey): string | number {
  return typeof key === "symbol" ? String(key) : key;
}

/** An object of a kind of ours: what it declares and what was reported of it. */
export interface Declared<Spec, Status> extends KubeObject {
  spec: Spec;
  /** Empty where nothing was reported yet. */
  status: Status;
}

/** Resource kind that the API server brings along; of the core group unless `where` says otherwise. */
export function builtInKind<T extends KubeObject>(
  kind: string,
  plural: string,
  where: { group?: string; namespaced?: boolean } = {},
): ResourceKind<T> {
  return { group: "", version: "v1", namespaced: true, ...where, plural, kind };
}

/** An object of a kind of ours: strict about the spec, whatever the status holds. */
export function declared<Spec extends z.ZodObject, Status extends z.ZodObject>(spec: Spec, status: Status) {
  return z.object({
    apiVersion: z.string().optional(),
    kind: z.string().optional(),
    metadata: objectMeta,
    spec,
    status: tolerant(status),
  });
}

/** Reads an object from the API server or a manifest. Never throws. */
export function readerOf<T extends { status: object }>(schema: z.ZodType<T>): (raw: unknown) => Parsed<T> {
  return (raw) => {
    const read = parseWith(schema, raw);
    if (!read.ok) return read;
    // A copy of the status: an object that zod has filled key by key is a hash table to V8, four times as large.
    const value = { ...read.value, status: { ...read.value.status } };
    shareWithin(value);
    return { ok: true, value };
  };
}
