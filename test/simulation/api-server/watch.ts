import type { WatchLine } from "../../../src/operator/kube/transport.ts";
import type { Cancel, Clock, Random } from "../../../src/operator/runtime/clock.ts";
import { refuse } from "./refusal.ts";
import { apiVersionOf, type Resource, resourceKey } from "./resources.ts";
import { type Selector, selectorOf } from "./selectors.ts";
import type { Change, Store } from "./store.ts";

/** Who reads a watch. */
export interface WatchSink {
  line(line: WatchLine): void;
  /** The server closed the watch in order. */
  end(): void;
}

/** What a watch needs besides the store. */
export interface WatchContext {
  store: Store;
  clock: Clock;
  random: Random;
}

/** How long a watch without `timeoutSeconds` lives at least; the real server doubles it at most. */
const shortestLifeMs = 1_800_000;
const bookmarkEveryMs = 60_000;

/**
 * Opens a watch: first what happened since its resourceVersion, then each change as it is committed. A version that is
 * still to come, as after etcd was restored, is waited for in silence.
 */
export function openWatch(
  context: WatchContext,
  resource: Resource,
  namespace: string | undefined,
  query: Readonly<Record<string, string>>,
  sink: WatchSink,
): Cancel {
  const { store, clock } = context;
  const belongs = within(namespace, selectorOf(resource, query));
  const from = query["resourceVersion"] ?? "";
  const start = Number(from);
  if (from !== "" && from !== "0" && start < store.compacted) {
    const expired = refuse.expired(`too old resource version: ${from} (${store.compacted})`);
    sink.line({ type: "ERROR", object: expired.toStatus() });
    sink.end();
    return () => {};
  }
  const report = (change: Change) => {
    const line = lineFor(change, belongs);
    if (line) sink.line(line);
  };
  if (from === "" || from === "0") {
    for (const object of store.list(resource, namespace).filter(belongs)) sink.line({ type: "ADDED", object });
  } else {
    for (const change of store.since(resource, start)) report(change);
  }

  const key = resourceKey(resource);
  const unsubscribe = store.subscribe((change) => {
    if (resourceKey(change.resource) === key && change.revision > start) report(change);
  });
  const bookmark = () => {
    if (query["allowWatchBookmarks"] === "true" && store.revision >= start)
      sink.line({ type: "BOOKMARK", object: bookmarkOf(resource, store.revision) });
  };
  const cancelBookmarks = every(clock, bookmarkEveryMs, bookmark);
  const seconds = Number(query["timeoutSeconds"] ?? 0);
  const life = seconds > 0 ? seconds * 1000 : shortestLifeMs * (1 + context.random());
  const close = () => {
    unsubscribe();
    cancelBookmarks();
    cancelEnd();
  };
  const cancelEnd = clock.after(life, () => {
    bookmark();
    close();
    sink.end();
  });
  return close;
}

function within(namespace: string | undefined, selector: Selector): Selector {
  return namespace === undefined ? selector : (object) => object.metadata.namespace === namespace && selector(object);
}

/**
 * What a watch with a selector sees of a change: an object that comes to match is ADDED, one that ceases to is DELETED.
 */
function lineFor(change: Change, belongs: Selector): WatchLine | undefined {
  const { type, object, previous } = change;
  const is = type !== "DELETED" && belongs(object);
  const was = previous !== undefined && belongs(previous);
  if (is) return { type: was ? "MODIFIED" : "ADDED", object };
  return was ? { type: "DELETED", object } : undefined;
}

function bookmarkOf(resource: Resource, revision: number): unknown {
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { resourceVersion: String(revision), creationTimestamp: null },
  };
}

function every(clock: Clock, ms: number, task: () => void): Cancel {
  // Armed before the task, which may be what ends it.
  let cancel = clock.after(ms, function again() {
    cancel = clock.after(ms, again);
    task();
  });
  return () => cancel();
}
