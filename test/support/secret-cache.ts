import type { SecretCache } from "../../src/operator/connection-secret/secret-cache.ts";
import { SECRET_OF } from "../../src/operator/resources/names.ts";

/** The cache of connection Secrets over a plain list; every namespace agrees, and no other Compute lives. */
export function secretCache(ours: SecretCache["ours"], more: Partial<SecretCache> = {}): SecretCache {
  return {
    ours,
    at: ({ namespace, name }) =>
      ours(namespace)?.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace),
    elsewhere: (uid) =>
      (ours("") ?? []).filter(
        ({ metadata: { labels, annotations } }) =>
          annotations?.[SECRET_OF] !== undefined && labels?.["compute-operator.dev/compute"] === uid,
      ),
    isLabelled: () => true,
    namespacesWith: () => [],
    isLive: () => false,
    sharingRole: () => [],
    ...more,
  };
}
