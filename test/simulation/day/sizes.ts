import { readdirSync } from "node:fs";
import { Session } from "node:inspector";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";

const value = z.looseObject({
  className: z.string().optional(),
  description: z.string().optional(),
  objectId: z.string().optional(),
});
type Value = z.infer<typeof value>;
const property = z.looseObject({ name: z.string(), value: value.optional() });
const properties = z.looseObject({ result: z.array(property), privateProperties: z.array(property).optional() });

/** The name of the base class of all counted classes, and of the group of objects that the inspector releases. */
const group = "countedInstances";

/** The ancestor that is put above classes, so that one search of the heap finds the instances of all of them. */
const ancestor = {};

/** Has the instances counted, from now on, of all classes that modules below a directory export. */
export async function countClassesBelow(directory: string, which: (file: string) => boolean): Promise<void> {
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  for (const file of files.filter(which)) {
    const exported: Record<string, unknown> = await import(pathToFileURL(join(directory, file)).href);
    for (const one of Object.values(exported)) if (typeof one === "function") countInstancesOf(one);
  }
}

function countInstancesOf(one: { prototype?: unknown }): void {
  const { prototype } = one;
  if (typeof prototype !== "object" || prototype === null) return;
  if (Object.getPrototypeOf(prototype) === Object.prototype) Object.setPrototypeOf(prototype, ancestor);
}

/**
 * How many instances of each counted class are alive, and how much they hold: `WorkQueue` is a number of instances,
 * `DueKeys.#times` the entries of that map, set or array over all of them. Private fields are seen as by a
 * debugger.
 */
export function sizes(): Map<string, number> {
  const session = new Session();
  session.connect();
  Reflect.set(globalThis, group, ancestor);
  try {
    const found = new Map<string, number>();
    const add = (at: string, count: number) => found.set(at, (found.get(at) ?? 0) + count);
    for (const { className = "", objectId = "" } of instances(session)) {
      const { result, privateProperties = [] } = propertiesOf(session, objectId);
      // Their prototypes inherit from the ancestor too.
      if (result.some(({ name }) => name === "constructor")) continue;
      add(className, 1);
      for (const field of [...result, ...privateProperties]) {
        const entries = /^(?:Map|Set|Array)\((\d+)\)$/.exec(field.value?.description ?? "")?.[1];
        if (entries !== undefined) add(`${className}.${field.name}`, Number(entries));
      }
    }
    return found;
  } finally {
    post(session, "Runtime.releaseObjectGroup", { objectGroup: group });
    Reflect.deleteProperty(globalThis, group);
    session.disconnect();
  }
}

/** All objects that inherit from the ancestor; those that are garbage are collected first. */
function instances(session: Session): Value[] {
  const evaluated = post(session, "Runtime.evaluate", { expression: group, objectGroup: group });
  const { objectId } = z.looseObject({ result: value }).parse(evaluated).result;
  const queried = post(session, "Runtime.queryObjects", { prototypeObjectId: objectId, objectGroup: group });
  const list = z.looseObject({ objects: value }).parse(queried).objects;
  const { result } = propertiesOf(session, list.objectId ?? "");
  return result.filter(({ name }) => /^\d+$/.test(name)).flatMap((item): Value[] => (item.value ? [item.value] : []));
}

function propertiesOf(session: Session, objectId: string): z.infer<typeof properties> {
  return properties.parse(post(session, "Runtime.getProperties", { objectId, ownProperties: true }));
}

/** The inspector of one's own thread answers before `post` returns. */
function post(session: Session, method: string, parameters: object): unknown {
  let answer: unknown;
  session.post(method, parameters, (error, result) => {
    if (error !== null) throw new Error(`${method}: ${error.message}`);
    answer = result;
  });
  return answer;
}
