import type { KubeObject } from "../objects/object.ts";
import { annotations } from "./names.ts";

/** One annotation of the operator's, by its short name. */
export function annotation(
  { metadata }: Pick<KubeObject, "metadata">,
  name: keyof typeof annotations,
): string | undefined {
  return metadata.annotations?.[annotations[name]];
}
