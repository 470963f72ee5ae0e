import { z } from "zod";
import { tolerant } from "../../objects/object.ts";
import type { Compute } from "../../resources/compute.ts";
import { formerAnnotations } from "../../resources/names.ts";

// Marks of 0.1.0, which noted in annotations what `status.pendingWrite` records now.

const create = tolerant(
  z.object({
    /** Of the Compute; a mark with another uid was copied and does not count. */
    uid: z.string(),
    /** RFC 3339. */
    since: z.string().default(""),
    branchID: z.string().default(""),
    /** The fingerprint of the base URL and key that it was sent with. */
    through: z.string().default(""),
  }),
);

const takeover = tolerant(z.object({ uid: z.string(), endpointID: z.string(), through: z.string().default("") }));

export interface FormerMarks {
  create?: z.output<typeof create> | undefined;
  takeover?: z.output<typeof takeover> | undefined;
}

/** The marks of this very object; anything else counts as none. A tenant can type them: they prove nothing. */
export function formerMarksOf(compute: Compute): FormerMarks {
  if (compute.metadata.annotations === undefined) return {};
  return {
    create: markIn(compute, formerAnnotations.pendingCreate, create),
    takeover: markIn(compute, formerAnnotations.pendingTakeover, takeover),
  };
}

/** Notes of 0.1.0 on the object: whether there are any. */
export function hasFormerNotes({ metadata: { annotations = {} } }: Compute): boolean {
  return Object.values(formerAnnotations).some((name) => Object.hasOwn(annotations, name));
}

function markIn<T extends { uid: string }>({ metadata }: Compute, name: string, schema: z.ZodType<T>): T | undefined {
  const text = metadata.annotations?.[name];
  if (text === undefined) return undefined;
  try {
    const mark = schema.parse(JSON.parse(text));
    return mark.uid === metadata.uid ? mark : undefined;
  } catch {
    return undefined;
  }
}
