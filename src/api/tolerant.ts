import { z } from "zod";
import { isRecord, withoutNulls } from "./loose.ts";

/** The readable part of a field of an answer, and the paths of the parts left out. */
interface Readable {
  value: unknown;
  unreadable: readonly string[];
}

/** Reads one field; `value` is neither null nor absent. */
type ReadField = (value: unknown, path: string) => Readable;

/**
 * An object that the service answers. Only a required field makes it unreadable; an optional one that cannot be read is
 * left out and named in `unreadable`, so that one odd field does not hide everything else. Unknown fields pass, and a
 * field that is `null` reads as absent. `nested` reads fields of which a part may be left out.
 */
export function tolerant<Shape extends z.ZodRawShape>(shape: Shape, nested: Readonly<Record<string, ReadField>> = {}) {
  const whole = z.looseObject({ ...shape, unreadable: z.array(z.string()).readonly().optional() });
  const readers = new Map<string, ReadField>();
  for (const [name, schema] of Object.entries(shape)) {
    if (schema instanceof z.ZodOptional) readers.set(name, nested[name] ?? wholly(schema));
  }
  return z.unknown().transform((body, context): z.infer<typeof whole> => {
    // Nearly every answer is in order: it is read once.
    const read = whole.safeParse(withoutNulls(body));
    // A copy: an object that zod has filled key by key is a hash table to V8, four times as large.
    if (read.success && read.data["unreadable"] === undefined) return { ...read.data };
    const rest = whole.safeParse(readableOf(body, readers));
    if (rest.success) return rest.data;
    for (const { message, path } of rest.error.issues) context.addIssue({ code: "custom", message, path });
    return z.NEVER;
  });
}

/** Reads a map entry by entry: one that cannot be read does not hide the others. */
export function entryByEntry(schema: z.ZodType): ReadField {
  return (value, path) => {
    if (!isRecord(value)) return { value: undefined, unreadable: [path] };
    return collected(Object.entries(value), (name, entry) => readBy(wholly(schema), entry, `${path}.${name}`));
  };
}

/** Reads an object field by field; fields without a reader pass. */
export function fieldByField(readers: Readonly<Record<string, ReadField>>): ReadField {
  const known = new Map(Object.entries(readers));
  return (value, path) => {
    if (!isRecord(value)) return { value: undefined, unreadable: [path] };
    return collected(Object.entries(value), (name, field) => readBy(known.get(name), field, `${path}.${name}`));
  };
}

function readBy(reader: ReadField | undefined, value: unknown, path: string): Readable {
  if (value === null) return { value: undefined, unreadable: [] };
  return reader === undefined ? { value, unreadable: [] } : reader(value, path);
}

export function wholly(schema: z.ZodType): ReadField {
  return (value, path) =>
    schema.safeParse(value).success ? { value, unreadable: [] } : { value: undefined, unreadable: [path] };
}

function readableOf(body: unknown, readers: ReadonlyMap<string, ReadField>): unknown {
  if (!isRecord(body)) return body;
  // A service may have a field of this name; it says nothing of what we could read.
  const { unreadable: _, ...fields } = body;
  const read = collected(Object.entries(fields), (name, value) => readBy(readers.get(name), value, name));
  if (read.unreadable.length === 0) return read.value;
  return { ...read.value, unreadable: read.unreadable.toSorted() };
}

/** Each entry read on its own. Made by `fromEntries`, so that no name changes what the object inherits. */
function collected(
  entries: readonly (readonly [string, unknown])[],
  read: (name: string, value: unknown) => Readable,
): { value: Record<string, unknown>; unreadable: string[] } {
  const unreadable: string[] = [];
  const kept = entries.flatMap(([name, entry]) => {
    const one = read(name, entry);
    unreadable.push(...one.unreadable);
    return one.value === undefined ? [] : [[name, one.value] as const];
  });
  return { value: Object.fromEntries(kept), unreadable };
}
