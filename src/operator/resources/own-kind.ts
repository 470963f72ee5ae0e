import { z } from "zod";
import { GROUP, VERSION } from "./names.ts";
import { type KubeObject, objectMeta, type ResourceKind, tolerant } from "./object.ts";

/** An object of a kind of ours: what it declares and what was reported of it. */
export interface Declared<Spec, Status> extends KubeObject {
  spec: Spec;
  /** Empty where nothing was reported yet. */
  status: Status;
}

/** Where the API server serves a kind of ours. */
export function ownKind<T extends KubeObject>(kind: string, plural: string, namespaced = true): ResourceKind<T> {
  return { group: GROUP, version: VERSION, plural, kind, namespaced };
}

/** How an object of a kind of ours is read: strict about the spec, whatever the status holds. */
export function declared<Spec extends z.ZodObject, Status extends z.ZodObject>(spec: Spec, status: Status) {
  return z.object({
    apiVersion: z.string().optional(),
    kind: z.string().optional(),
    metadata: objectMeta,
    spec,
    status: tolerant(status),
  });
}
