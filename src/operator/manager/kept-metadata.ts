import { type KubeObject, type ObjectMeta, type OwnerReference, orphanFinalizer } from "../objects/object.ts";
import { annotations, finalizers, GROUP, labels } from "../resources/names.ts";

/** All annotations that the operator reads or writes on its own kinds. */
const readAnnotations: ReadonlySet<string> = new Set(Object.values(annotations));

/** The labels that are read, and whether the others are given to the Computes that an object makes. */
export interface KeptLabels {
  readonly read: ReadonlySet<string>;
  readonly areGivenOn: boolean;
}

/** All finalizers that the operator reads. */
const readFinalizers: ReadonlySet<string> = new Set([...Object.values(finalizers), orphanFinalizer]);

/** Of labels that are given on: what is kept of their names and values, in characters. */
const mostLabels = 16_384;
/** Others' finalizers whose places are kept. */
const mostFinalizers = 100;
/** Owners that are kept. */
const mostOwners = 10;
/** One character more than any name or uid has: what is cut there is still nobody's. */
const mostOfOwner = 254;

/**
 * An object of ours as the cache keeps it. Anybody who may write one may give it a megabyte of annotations, labels,
 * finalizers or owners, which nothing here reads.
 *
 * A map that is there stays, if empty: a patch that adds its first member would replace those that are left out. One
 * owner of another kind stays, which says that there are others. Of others' finalizers only places stay, since patches
 * name a finalizer by its place.
 */
export function withKeptMetadata<T extends KubeObject>(object: T, labelsKept: KeptLabels): T {
  const { metadata } = object;
  const { annotations: noted, labels: labelled, finalizers: held, ownerReferences: owners } = metadata;
  const kept: ObjectMeta = {
    ...metadata,
    ...(noted !== undefined && { annotations: picked(noted, readAnnotations) }),
    ...(labelled !== undefined && { labels: keptLabels(labelled, labelsKept) }),
    ...(held !== undefined && { finalizers: keptFinalizers(held) }),
    ...(owners !== undefined && { ownerReferences: keptOwners(owners) }),
  };
  return { ...object, metadata: kept };
}

/** Of a Compute: the labels of the selector and the pool's; all where the selector does not know its labels. */
export function labelsOfCompute({ names }: { names?: readonly string[] }): KeptLabels {
  return { read: new Set([...(names ?? []), labels.pool]), areGivenOn: names === undefined };
}

/** Of an object that makes Computes. */
export function labelsOfMaker({ names = [] }: { names?: readonly string[] }): KeptLabels {
  return { read: new Set(names), areGivenOn: true };
}

export const noLabels: KeptLabels = { read: new Set(), areGivenOn: false };

function picked(map: Readonly<Record<string, string>>, names: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([name]) => names.has(name)));
}

function keptLabels(map: Readonly<Record<string, string>>, { read, areGivenOn }: KeptLabels): Record<string, string> {
  const kept = picked(map, read);
  if (!areGivenOn) return kept;
  let size = 0;
  for (const [name, value] of Object.entries(map)) {
    size += name.length + value.length;
    if (size <= mostLabels) kept[name] = value;
  }
  return kept;
}

/** Each finalizer that is read, at its place. Of a very long list most places are holes, which take no memory. */
function keptFinalizers(held: readonly string[]): string[] {
  const kept: string[] = [];
  held.forEach((name, place) => {
    const isKept = readFinalizers.has(name) && held.indexOf(name) === place;
    if (isKept || place < mostFinalizers) kept[place] = isKept ? name : "";
  });
  return kept;
}

/** Our owners, the controlling one first of all, and one other. */
function keptOwners(owners: readonly OwnerReference[]): OwnerReference[] {
  const isOurs = ({ apiVersion }: OwnerReference) => apiVersion.startsWith(`${GROUP}/`);
  const ours = owners.filter(isOurs);
  const most = ours.length <= mostOwners ? ours : ours.toSorted(controllingFirst).slice(0, mostOwners);
  const other = owners.find((owner) => !isOurs(owner));
  return (other === undefined ? most : [...most, other]).map(cutOwner);
}

function controllingFirst(a: OwnerReference, b: OwnerReference): number {
  return Number(b.controller === true) - Number(a.controller === true);
}

function cutOwner(owner: OwnerReference): OwnerReference {
  const { apiVersion, kind, name, uid } = owner;
  const cut = (text: string) => text.slice(0, mostOfOwner);
  if ([apiVersion, kind, name, uid].every((text) => text.length <= mostOfOwner)) return owner;
  return { ...owner, apiVersion: cut(apiVersion), kind: cut(kind), name: cut(name), uid: cut(uid) };
}
