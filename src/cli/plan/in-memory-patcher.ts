import type { JsonPatchOperation } from "../../operator/kube/json-patch.ts";
import { sameJSON } from "../../operator/objects/record.ts";

/** Applies the patches of one object without a cluster; the result lasts as long as the command. */
export class InMemoryPatcher<T extends object> {
  #object: T;

  constructor(object: T) {
    this.#object = object;
  }

  /** Throws if a `test` fails: the patch was made for another object. */
  patch(_: unknown, __: unknown, ops: readonly JsonPatchOperation[]): Promise<T> {
    const copy = structuredClone(this.#object);
    for (const op of ops) apply(op, copy);
    this.#object = copy;
    return Promise.resolve(copy);
  }
}

/** The operations that `guardedPatch` writes: on members of objects, and on elements of lists. */
function apply(op: JsonPatchOperation, target: object): void {
  const names = op.path.split("/").slice(1);
  const keys = names.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = keys.pop() ?? "";
  const parent = keys.reduce<unknown>((within, key) => memberOf(within, key), target);
  if (typeof parent !== "object" || parent === null) throw new Error(`there is no ${op.path}`);
  switch (op.op) {
    case "test":
      if (!sameJSON(memberOf(parent, last), op.value)) throw new Error(`${op.path} is not as it was seen`);
      return;
    case "remove":
      if (Array.isArray(parent)) parent.splice(Number(last), 1);
      else Reflect.deleteProperty(parent, last);
      return;
    case "add":
    case "replace":
      if (Array.isArray(parent) && last === "-") parent.push(op.value);
      else Reflect.set(parent, last, op.value);
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
