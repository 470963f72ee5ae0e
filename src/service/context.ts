import type { Random, ServiceClock } from "./clock.ts";
import type { ComputeBackend } from "./computes/backend.ts";
import type { Catalog } from "./domain/catalog.ts";
import type { QueryAccess } from "./domain/queries.ts";
import type { Ids } from "./ids.ts";
import type { ServiceOptions } from "./options.ts";
import type { Store } from "./store/store.ts";

export interface ServiceContext {
  clock: ServiceClock;
  random: Random;
  ids: Ids;
  store: Store;
  options: ServiceOptions;
  /** The backend of the computes. */
  backend: ComputeBackend;
  /** The roles and databases of branches. */
  catalog: Catalog;
  /** Statements in the databases of computes; absent where these are a model. */
  queries?: QueryAccess;
}
