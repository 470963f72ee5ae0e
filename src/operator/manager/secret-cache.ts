import { sharingRole } from "../connection-secret/rotation.ts";
import type { SecretCache } from "../connection-secret/secret-cache.ts";
import type { Informers } from "./informers.ts";

/** The caches of the watches, as far as connection Secrets need them. */
export function secretCacheOf(informers: Informers): SecretCache {
  const { computes, connectionSecrets, indexes } = informers;
  return {
    ours: (namespace) => (informers.lacksSecrets ? undefined : connectionSecrets.within(namespace)),
    at: ({ namespace, name }) => connectionSecrets.get(namespace, name),
    elsewhere: (uid) => indexes.secretsElsewhere.of(uid),
    isLabelled: (namespace, label) => {
      const labels = informers.namespaceLabels(namespace);
      if (labels === "unread") return undefined;
      return labels !== "unknown" && Object.hasOwn(labels, label);
    },
    namespacesWith: (label) =>
      informers.namespaces
        .filter(({ metadata }) => Object.hasOwn(metadata.labels ?? {}, label))
        .map(({ metadata }) => metadata.name),
    isLive: (uid) => computes.byUid(uid) !== undefined,
    sharingRole: (compute) => sharingRole(compute, computes.list()),
  };
}
