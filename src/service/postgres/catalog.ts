import { ModelCatalog } from "../domain/model-catalog.ts";
import type { Ids } from "../ids.ts";
import type { Store } from "../store/store.ts";

/** The roles and databases of branches: rows that are brought into the servers, whose data comes along in a copy. */
export class PostgresCatalog extends ModelCatalog {
  readonly #store: Store;

  constructor(context: { store: Store; ids: Ids }) {
    super(context);
    this.#store = context.store;
  }

  override copy(from: string, to: string, at: number): void {
    super.copy(from, to, at);
    this.#store.branchData.setSource({ branchId: to, sourceId: from });
  }
}
