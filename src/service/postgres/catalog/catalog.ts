import type { ServiceClock } from "../../clock.ts";
import type { ComparedSchemas, WantedCopy } from "../../domain/catalog.ts";
import type { HistoryPoint } from "../../domain/history-point.ts";
import { ModelCatalog } from "../../domain/model-catalog.ts";
import { replacedOf } from "../../domain/undo-restore.ts";
import type { Ids } from "../../ids.ts";
import type { Store } from "../../store/store.ts";
import type { CopiedPoint } from "../data/point.ts";

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
  /** The clock of the servers. */
  readonly #clock: Pick<ServiceClock, "now">;

  constructor(context: { store: Store; ids: Ids; clock: Pick<ServiceClock, "now"> }, schemas: Schemas) {
    super(context);
    this.#clock = context.clock;
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
    // The copy is made later, and clients go on writing.
    const shown: CopiedPoint = point ?? { kind: "call", at: this.#clock.now() };
    this.#store.branchData.setSource({ branchId, sourceId, point: JSON.stringify(shown), schemaOnly, replaced });
  }
}
