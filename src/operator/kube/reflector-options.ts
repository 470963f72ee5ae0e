import type { RuntimePorts } from "../runtime/log.ts";
import type { ClusterClient, ListSelection } from "./client.ts";
import type { KubeObject, ResourceKind } from "./objects.ts";
import type { Change } from "./store.ts";

/** The occasion of a complete list. */
export type RelistCause = "start" | "expired" | "periodic";

/** Reports of a reflector, for metrics. */
export interface ReflectorObserver {
  watchRestarted?(kind: string, cause: "closed" | "expired" | "failed"): void;
  relisted?(kind: string, cause: RelistCause): void;
}

export interface ReflectorOptions<T extends KubeObject> extends ListSelection, RuntimePorts {
  client: ClusterClient;
  kind: ResourceKind<T>;
  /** Called for each change after the store has it. Errors are logged; the handler should enqueue a key and return. */
  onChange: (change: Change<T>) => void;
  /**
   * A complete list was read; called before its changes are reported. After `expired`, events in between were missed.
   */
  onRelist?: (cause: RelistCause) => void;
  /** Parses a raw object; `undefined` or an error if it is invalid: it is skipped, and its last known state stays. */
  parse?: (raw: unknown) => T | undefined;
  /**
   * True if `labelSelector` and `fieldSelector` select an object that this process created. Default: all are selected.
   */
  selects?: (object: T) => boolean;
  /** Called if the kind is not served: whether it is being uninstalled, so that it has no objects. */
  isUninstalled?: () => Promise<boolean>;
  /** The kind, or the right to list it, may be missing: then there is nothing of it until both are there. */
  optional?: boolean;
  observer?: ReflectorObserver;
  /** Objects per page of a list. Default 200. */
  pageSize?: number;
}
