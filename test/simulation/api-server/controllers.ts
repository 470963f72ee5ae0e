import type { Clock } from "../../../src/operator/runtime/clock.ts";
import { remove } from "./delete.ts";
import type { KubeObject } from "./objects.ts";
import { qualified } from "./refusal.ts";
import { customResourceDefinitions, namespaces, type Resource } from "./resources.ts";
import type { Store } from "./store.ts";

/** What the controllers beside the API server work on. */
export interface ControllerContext {
  store: Store;
  clock: Clock;
  timestamp: () => string;
  /** Every resource that is served now. */
  resources: () => readonly Resource[];
}

/** How long a controller takes to notice a change. */
const noticeMs = 20;

/** Deletes the content of namespaces that are being deleted, then the namespace: as kube-controller-manager. */
export function runNamespaceController(context: ControllerContext): void {
  const { store } = context;
  onChange(context, () => {
    for (const namespace of store.list(namespaces)) {
      if (namespace.metadata.deletionTimestamp === undefined) continue;
      const held = context.resources().filter((resource) => resource.namespaced);
      if (!deleteAll(context, held, namespace.metadata.name)) store.remove(namespaces, namespace);
    }
  });
}

/** Deletes every instance of a definition that is being deleted, then the definition: as kube-apiserver itself. */
export function runDefinitionCleanup(context: ControllerContext): void {
  const { store } = context;
  onChange(context, () => {
    for (const definition of store.list(customResourceDefinitions)) {
      if (definition.metadata.deletionTimestamp === undefined) continue;
      const own = context.resources().filter((resource) => qualified(resource) === definition.metadata.name);
      if (!deleteAll(context, own)) store.remove(customResourceDefinitions, definition);
    }
  });
}

/** Deletes what is owned by objects that are all gone: as kube-controller-manager's garbage collector. */
export function runGarbageCollector(context: ControllerContext): void {
  const { store } = context;
  onChange(context, (changed) => {
    if (changed !== "DELETED" && changed !== "ADDED") return;
    const everything = context
      .resources()
      .flatMap((resource) => store.list(resource).map((object) => ({ resource, object })));
    const living = new Set(everything.map(({ object }) => object.metadata.uid));
    for (const { resource, object } of everything) {
      const owners = object.metadata.ownerReferences ?? [];
      if (owners.length === 0 || owners.some((owner) => living.has(owner.uid))) continue;
      remove(store, resource, object, undefined, context.timestamp());
    }
  });
}

/** Deletes what is left of some resources; tells whether anything remains. */
function deleteAll(context: ControllerContext, resources: readonly Resource[], namespace?: string): boolean {
  const { store } = context;
  const left = (): { resource: Resource; object: KubeObject }[] =>
    resources.flatMap((resource) => store.list(resource, namespace).map((object) => ({ resource, object })));
  for (const { resource, object } of left()) remove(store, resource, object, undefined, context.timestamp());
  return left().length > 0;
}

/** Runs a pass soon after any change; changes of one pass start the next. */
function onChange(context: ControllerContext, pass: (changed: "ADDED" | "MODIFIED" | "DELETED") => void): void {
  context.store.subscribe((change) => {
    context.clock.after(noticeMs, () => pass(change.type));
  });
}
