import type { HistoryPoint } from "../domain/history.ts";
import { ModelCatalog } from "../domain/model-catalog.ts";
import type { Ids } from "../ids.ts";
import type { Store } from "../store/store.ts";

/** Reads the schema of a database from the data of its branch. Rejects with `Refusal`. */
export type ReadSchema = (branchId: string, database: string) => Promise<string>;

/** The roles and databases of branches: rows that are brought into the servers, whose data comes along in a copy. */
export class PostgresCatalog extends ModelCatalog {
  readonly #store: Store;
  readonly #readSchema: ReadSchema;

  constructor(context: { store: Store; ids: Ids }, readSchema: ReadSchema) {
    super(context);
    this.#store = context.store;
    this.#readSchema = readSchema;
  }

  override schema(branchId: string, database: string): Promise<string> {
    return this.#readSchema(branchId, database);
  }

  override copyToNew(from: string, to: string, at: number, point?: HistoryPoint): void {
    super.copyToNew(from, to, at);
    this.rewind(from, to, point);
  }

  override replace(from: string, to: string, at: number, point?: HistoryPoint): void {
    super.replace(from, to, at);
    this.rewind(from, to, point);
  }

  override rewind(from: string, to: string, point?: HistoryPoint): void {
    this.#store.branchData.setSource({ branchId: to, sourceId: from, ...(point && { point: JSON.stringify(point) }) });
  }
}
