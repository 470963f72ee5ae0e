import { z } from "zod";
import { builtInKind, type KubeObject, objectMeta } from "./object.ts";

/** A namespace, as far as ClusterServiceConnections select it. */
export type Namespace = KubeObject;

export const namespaceKind = builtInKind<Namespace>("Namespace", "namespaces", { namespaced: false });

const namespace = z.object({
  metadata: objectMeta.pick({ name: true, uid: true, resourceVersion: true, labels: true }),
});

/** Throws where it is no namespace. The rest, such as annotations, is not kept in memory. */
export function parseNamespace(raw: unknown): Namespace {
  return namespace.parse(raw);
}
