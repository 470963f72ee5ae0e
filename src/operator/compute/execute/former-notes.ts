import type { GuardedPatch } from "../../kube/json-patch.ts";
import { formerAnnotations } from "../../resources/names.ts";

/** Removes what 0.1.0 noted in annotations. */
export function withoutFormerNotes(patch: GuardedPatch): GuardedPatch {
  for (const name of Object.values(formerAnnotations)) patch.removeAnnotation(name);
  return patch;
}
