import { generationOf, type KubeObject } from "../../operator/objects/object.ts";
import { sameJSON } from "../../operator/objects/record.ts";

/** The object with this spec, as the API server stores it: a changed spec raises the generation. */
export function withSpec<T extends KubeObject & { spec: object }>(object: T, spec: T["spec"]): T {
  if (sameJSON(spec, object.spec)) return object;
  return { ...object, metadata: { ...object.metadata, generation: generationOf(object) + 1 }, spec };
}

export function withUID<T extends KubeObject>(object: T, uid: string): T {
  return { ...object, metadata: { ...object.metadata, uid } };
}

/** The object as it is once its deletion was requested. */
export function asDeleted<T extends KubeObject>(object: T): T {
  const { deletionTimestamp = object.metadata.creationTimestamp ?? "" } = object.metadata;
  return { ...object, metadata: { ...object.metadata, deletionTimestamp } };
}
