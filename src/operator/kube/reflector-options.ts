import type { Clock, Random } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { ClusterClient, ListSelection } from "./client.ts";
import type { KubeObject, ResourceKind } from "./objects.ts";
import type { Change } from "./store.ts";

/** Why a complete list was read. */
export type RelistCause = "start" | "expired" | "periodic";

/** What a reflector reports for metrics. */
export interface ReflectorObserver {
  watchRestarted?(kind: string, cause: "closed" | "expired" | "failed"): void;
  relisted?(kind: string, cause: RelistCause): void;
}

export interface ReflectorOptions<T extends KubeObject> extends ListSelection {
  client: ClusterClient;
  kind: ResourceKind<T>;
  clock: Clock;
  random: Random;
  log: Logger;
  /**
   * Hears of each change after the store has it. What it throws is logged; it is expected to enqueue a key and return.
   */
  onChange: (change: Change<T>) => void;
  /**
   * A complete list has come in; called before its changes are told. After `expired` there was a gap in what was seen.
   */
  onRelist?: (cause: RelistCause) => void;
  /**
   * Makes a typed object of what came, `undefined` where it is odd: then it is skipped and what was known of it stays.
   */
  parse?: (raw: unknown) => T | undefined;
  /**
   * Whether `labelSelector` and `fieldSelector` select the object, for one that this process created; all are where
   * left out.
   */
  selects?: (object: T) => boolean;
  /** Asked where the kind is not served: whether it is being uninstalled, so that there is nothing of it. */
  isUninstalled?: () => Promise<boolean>;
  observer?: ReflectorObserver;
  /** Objects per page of a list; 500 where left out. */
  pageSize?: number;
}
