import type { ComparedSchemas, WantedCopy } from "../../domain/catalog.ts";
import type { HistoryPoint } from "../../domain/history-point.ts";
import { ModelCatalog } from "../../domain/model-catalog.ts";
import { replacedOf } from "../../domain/undo-restore.ts";
import type { Ids } from "../../ids.ts";
import type { Store } from "../../store/store.ts";

/** The schemas of databases, read from the data of their branches. */
export interface Schemas {
  /** `gone` ends the reading. Rejects with `Refusal`. */
  read(branchId: string, database: string, gone?: AbortSignal): Promise<string>;
  compare(schemas: ComparedSchemas, gone?: AbortSignal): Promise<string>;
}

/** The roles and databases of branches: rows that are brought into the servers, whose data comes along in a copy. */
export class PostgresCatalog extends ModelCatalog {
  readonly #store: Store;
  readonly #schemas: Schemas;

  constructor(context: { store: Store; ids: Ids }, schemas: Schemas) {
    super(context);
    this.#store = context.store;
    this.#schemas = schemas;
  }

  override schema(branchId: string, database: string, gone?: AbortSignal): Promise<string> {
    return this.#schemas.read(branchId, database, gone);
  }

  override compared(schemas: ComparedSchemas, gone?: AbortSignal): Promise<string> {
    return this.#schemas.compare(schemas, gone);
  }

  override copyToNew(from: string, to: string, at: number, what: WantedCopy = {}): void {
    super.copyToNew(from, to, at);
    this.#want(from, to, what);
  }

  override replace(from: string, to: string, at: number, point?: HistoryPoint, keptId?: string): void {
    this.#want(from, to, { point }, replacedOf(this.#store, to, keptId));
    super.replace(from, to, at);
  }

  override rewind(from: string, to: string, point?: HistoryPoint): void {
    this.#want(from, to, { point }, replacedOf(this.#store, to, from));
  }

  #want(sourceId: string, branchId: string, { point, schemaOnly = false }: WantedCopy, replaced?: string): void {
    const { branchData } = this.#store;
    branchData.setSource({ branchId, sourceId, point: point && JSON.stringify(point), schemaOnly, replaced });
  }
}
