import type { KubeObject, ResourceKind } from "../objects/object.ts";
import { GROUP, VERSION } from "./names.ts";

/** Resource kind of our own group, as the API server serves it. */
export function ownKind<T extends KubeObject>(kind: string, plural: string, namespaced = true): ResourceKind<T> {
  return { group: GROUP, version: VERSION, plural, kind, namespaced };
}
