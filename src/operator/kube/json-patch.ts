import type { KubeObject } from "./objects.ts";

/** One step of an RFC 6902 patch. */
export type JsonPatchOperation =
  | { op: "test" | "add" | "replace"; path: string; value: unknown }
  | { op: "remove"; path: string };

/**
 * A patch of exactly this object. It begins with `test` on the uid, so an object recreated under the same name is never
 * changed; with `resourceVersion` also with `test` on that, so it fails if anybody wrote since. Each step tests what
 * was seen in `object`; if that has changed, the whole patch is refused (`isStale`). Steps that would change nothing
 * are left out.
 */
export function guardedPatch(
  object: Pick<KubeObject, "metadata">,
  options: { resourceVersion?: boolean } = {},
): GuardedPatch {
  return new GuardedPatch(object, options.resourceVersion ?? false);
}

export class GuardedPatch {
  readonly #object: Pick<KubeObject, "metadata">;
  /** Creating a missing map or list would overwrite one created meanwhile, so the version must match. */
  #testVersion: boolean;
  readonly #changes: JsonPatchOperation[] = [];
  #annotations: Map<string, string> | undefined;
  #finalizers: readonly string[] | undefined;

  constructor(object: Pick<KubeObject, "metadata">, testVersion: boolean) {
    const { annotations, finalizers } = object.metadata;
    this.#object = object;
    this.#testVersion = testVersion;
    this.#annotations = annotations && new Map(Object.entries(annotations));
    this.#finalizers = finalizers;
  }

  /** A value is overwritten if it is still the one that was seen. Without a value the annotation is removed. */
  setAnnotation(key: string, value: string | undefined): this {
    if (value === undefined) return this.removeAnnotation(key);
    if (this.#annotations?.get(key) === value) return this;
    if (this.#annotations === undefined) {
      this.#testVersion = true;
      this.#annotations = new Map([[key, value]]);
      this.#changes.push({ op: "add", path: "/metadata/annotations", value: { [key]: value } });
    } else {
      const path = pointer("metadata", "annotations", key);
      const before = this.#annotations.get(key);
      if (before !== undefined) this.#changes.push({ op: "test", path, value: before });
      this.#annotations.set(key, value);
      this.#changes.push({ op: "add", path, value });
    }
    return this;
  }

  /** Removes the annotation if it still has this value. */
  removeAnnotation(key: string): this {
    const value = this.#annotations?.get(key);
    if (value === undefined) return this;
    this.#annotations?.delete(key);
    const path = pointer("metadata", "annotations", key);
    this.#changes.push({ op: "test", path, value }, { op: "remove", path });
    return this;
  }

  /** The version must match: the list may have changed, and caches do not keep the names of other finalizers. */
  addFinalizer(name: string): this {
    if (this.#finalizers?.includes(name)) return this;
    this.#testVersion = true;
    this.#changes.push(
      this.#finalizers === undefined
        ? { op: "add", path: "/metadata/finalizers", value: [name] }
        : { op: "add", path: "/metadata/finalizers/-", value: name },
    );
    this.#finalizers = [...(this.#finalizers ?? []), name];
    return this;
  }

  /** Removes this finalizer wherever it stands in the list, and keeps the others. */
  removeFinalizer(name: string): this {
    const index = this.#finalizers?.indexOf(name) ?? -1;
    if (index < 0) return this;
    const path = `/metadata/finalizers/${index}`;
    this.#changes.push({ op: "test", path, value: name }, { op: "remove", path });
    this.#finalizers = this.#finalizers?.filter((_, at) => at !== index);
    return this;
  }

  /** Sets the whole status, for a patch of the subresource `status`. */
  setStatus(status: unknown): this {
    this.#changes.push({ op: "add", path: "/status", value: status });
    return this;
  }

  /** Sets any other member, e.g. `["spec"]` or `["data", "host"]`; its parent must exist. */
  set(path: readonly string[], value: unknown): this {
    this.#changes.push({ op: "add", path: pointer(...path), value });
    return this;
  }

  /** Removes any other member, which must exist. */
  remove(path: readonly string[]): this {
    this.#changes.push({ op: "remove", path: pointer(...path) });
    return this;
  }

  /** True if the patch would change nothing, so that it need not be sent. */
  get isEmpty(): boolean {
    return this.#changes.length === 0;
  }

  ops(): JsonPatchOperation[] {
    const { uid, resourceVersion } = this.#object.metadata;
    const guards: JsonPatchOperation[] = [{ op: "test", path: "/metadata/uid", value: uid }];
    if (this.#testVersion) guards.push({ op: "test", path: "/metadata/resourceVersion", value: resourceVersion });
    return [...guards, ...this.#changes];
  }
}

/** A JSON pointer (RFC 6901) to the member at this path. */
export function pointer(...names: readonly string[]): string {
  return names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
