import type { Secret } from "../resources/secret.ts";

/** The longest value that is kept, in base64: a key has at most 1,024 characters. */
const longestValue = 4096;
/** All values and their names that are kept, in characters; the rest of the Secret counts as missing. */
const mostInAll = 65_536;
/** Finalizers that are kept. */
const mostFinalizers = 100;

/**
 * The part of an API key's Secret that the cache keeps. Anybody may create Secrets of this type, of a megabyte each:
 * only what a connection may read stays, and a value that is too long for a key stays too long.
 */
export function keptApiKey({ apiVersion, kind, type, metadata, data }: Secret): Secret {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, finalizers } = metadata;
  const kept: Record<string, string> = {};
  let size = 0;
  for (const [key, value] of Object.entries(data ?? {})) {
    const short = value.slice(0, longestValue);
    size += key.length + short.length;
    if (size <= mostInAll) kept[key] = short;
  }
  return {
    apiVersion,
    kind,
    ...(type !== undefined && { type }),
    metadata: {
      name,
      uid,
      resourceVersion,
      ...(namespace !== undefined && { namespace }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(finalizers !== undefined && { finalizers: finalizers.slice(0, mostFinalizers) }),
    },
    ...(data !== undefined && { data: kept }),
  };
}
