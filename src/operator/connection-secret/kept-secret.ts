import { hash } from "node:crypto";
import { asRecord } from "../objects/record.ts";
import { CONNECTION_SECRET_TYPE, GROUP, labels, SECRET_OF } from "../resources/names.ts";
import type { Secret } from "../resources/secret.ts";
import { longestURI } from "./details.ts";
import type { Template } from "./template.ts";

/** Of a connection Secret: what it was made from, and a digest of what was written, to notice both changes. */
export const builtFrom = `${GROUP}/built-from`;
export const digestOfData = `${GROUP}/data-sha256`;
/** Of a connection Secret: the time at which its password was last changed (RFC 3339). */
export const rotatedAtKey = `${GROUP}/password-rotated-at`;
/** Of a connection Secret: the value of `passwordRotationAt` that was last carried out. */
export const handledKey = `${GROUP}/password-rotation-handled`;
/**
 * Of a connection Secret whose one role has a password that nothing shows: the time at which a reset of it was sent
 * (RFC 3339). The write that brings the password takes it away.
 */
export const sentKey = `${GROUP}/password-reset-sent`;

/** The annotations that the operator writes, besides those of a template. */
const ownAnnotations = [builtFrom, digestOfData, rotatedAtKey, handledKey, sentKey, SECRET_OF];

/** The longest `built-from` that is kept, in characters: the operator writes no longer ones. */
const longestSource = 131_072;

/** The longest `SECRET_OF` that is kept: a namespace, a name and a uid, with what separates them. */
const longestMark = 63 + 1 + 253 + 1 + 36;

/** A connection Secret as the cache keeps it: `dataDigest` is of its whole data, of which only the URI stays. */
export interface KeptSecret extends Secret {
  dataDigest?: string;
}

/**
 * The part of a labelled Secret that the cache keeps. Anybody may give Secrets our label, of a megabyte each. Of one
 * that is not ours only its name and label stay; of ours the digest of its data, its URI, and the labels and
 * annotations that the operator wrote.
 */
export function keptConnectionSecret({ apiVersion, kind, type, metadata, data }: Secret): KeptSecret {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, finalizers = [] } = metadata;
  const owner = metadata.labels?.[labels.compute];
  const place = {
    name,
    uid,
    resourceVersion,
    labels: owner === undefined ? {} : { [labels.compute]: owner },
    ...(namespace !== undefined && { namespace }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp, finalizers: finalizers.slice(0, 1) }),
  };
  const isOurs = owner !== undefined && isWritten({ metadata, ...(type !== undefined && { type }) }, owner);
  if (!isOurs) return { apiVersion, kind, metadata: place };
  const source = metadata.annotations?.[builtFrom] ?? "";
  const template = templateOf(source.length > longestSource ? undefined : source);
  const uri = data?.["uri"] ?? "";
  return {
    apiVersion,
    kind,
    type: CONNECTION_SECRET_TYPE,
    metadata: {
      ...place,
      labels: { ...picked(metadata.labels, Object.keys(template.labels)), ...place.labels },
      ...(metadata.annotations !== undefined && {
        annotations: picked(metadata.annotations, [...Object.keys(template.annotations), ...ownAnnotations]),
      }),
      ownerReferences: metadata.ownerReferences?.filter((reference) => reference.uid === owner).slice(0, 1) ?? [],
    },
    data: uri === "" || uri.length > longestURI ? {} : { uri },
    dataDigest: digest(data ?? {}),
  };
}

function picked(map: Readonly<Record<string, string>> = {}, names: readonly string[]): Record<string, string> {
  const found = names.filter((name) => Object.hasOwn(map, name) && (map[name]?.length ?? 0) <= longestSource);
  return Object.fromEntries(found.map((name) => [name, map[name] ?? ""]));
}

type Marks = Pick<Secret, "metadata" | "type">;

/** A connection Secret by its type, with the label of this Compute. */
export function isOurKind({ metadata, type }: Marks, uid: string): boolean {
  return type === CONNECTION_SECRET_TYPE && metadata.labels?.[labels.compute] === uid;
}

/** Ours by label and by owner, both. */
export function isOwnedBy(secret: Marks, uid: string): boolean {
  return isOurKind(secret, uid) && secret.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

/** Written for the Compute of this uid, in its own namespace or in another one. */
function isWritten(secret: Marks, uid: string): boolean {
  const mark = secret.metadata.annotations?.[SECRET_OF] ?? "";
  return isOwnedBy(secret, uid) || (isOurKind(secret, uid) && mark.length <= longestMark && mark.endsWith(`/${uid}`));
}

/** The source of a Secret's data: endpoint, host, branch, database, role and, where there is one, the template. */
function sourceIn(source: string | undefined): readonly unknown[] {
  const made: unknown = source === undefined ? undefined : parsedJSON(source);
  return Array.isArray(made) ? made : [];
}

/** The branch and the role that a Secret was made for, where its annotation says so. */
export function originIn({ annotations }: Secret["metadata"]): { branchID?: string; role?: string } {
  const [, , branchID, , role] = sourceIn(annotations?.[builtFrom]);
  return { ...(typeof branchID === "string" && { branchID }), ...(typeof role === "string" && { role }) };
}

/** The template that a Secret was made from; empty where its annotation does not say. */
export function templateOf(source: string | undefined): { labels: object; annotations: object } {
  const template = asRecord(sourceIn(source).at(5));
  return { labels: asRecord(template.labels), annotations: asRecord(template.annotations) };
}

function parsedJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function digest(data: Record<string, string>): string {
  const members = Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash("sha256", JSON.stringify(members));
}

/** True if a Secret stands as it was last written, from this source. */
export function isIntact(secret: KeptSecret, source: string, template: Template): boolean {
  const { labels: carried, annotations } = secret.metadata;
  const isMarked = contains(carried, template.labels) && contains(annotations, template.annotations);
  return isMarked && annotations?.[builtFrom] === source && isUntouched(secret);
}

function contains(map: Readonly<Record<string, string>> = {}, wanted: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(wanted).every(([name, value]) => map[name] === value);
}

/** True if the data of a Secret is what the operator wrote. */
export function isUntouched({ metadata, dataDigest }: KeptSecret): boolean {
  return metadata.annotations?.[digestOfData] === dataDigest;
}

/** True if a Secret was written with this data. */
export function isDigestOf({ metadata }: KeptSecret, data: Record<string, string>): boolean {
  return metadata.annotations?.[digestOfData] === digest(data);
}

/** The URI in a Secret. */
export function uriIn({ data }: KeptSecret): string | undefined {
  const encodedURI = data?.["uri"];
  return encodedURI === undefined ? undefined : Buffer.from(encodedURI, "base64").toString();
}
