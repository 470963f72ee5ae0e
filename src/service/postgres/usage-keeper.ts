import { changeInParts } from "../change-in-parts.ts";
import { elapsed } from "../clock.ts";
import { meter } from "../computes/meter.ts";
import type { ServiceContext } from "../context.ts";
import { unlessFull } from "../refusal.ts";
import { Repeated } from "../repeated.ts";
import type { DrivenService } from "./driven-service.ts";

/** Interval at which usage is recorded, in milliseconds: of a process that is killed, no more than this is lost. */
const everyMs = 600_000;

/** The most computes that one turn of the loop records. */
const mostAtOnce = 50;

/**
 * Records the usage of running computes also while nobody comes or goes: when the service begins again, they are idle,
 * and usage that was shown and not recorded would be gone.
 */
export class UsageKeeper {
  readonly #service: DrivenService;
  readonly #repeated: Repeated;

  constructor(service: DrivenService) {
    this.#service = service;
    const report = (error: unknown) => service.report(error);
    this.#repeated = new Repeated(service.context.clock, everyMs, () => this.#recordInTurns(), report);
  }

  begin(): void {
    this.#repeated.begin();
  }

  /** To be called while the clients are still there, by whom the size of a compute counts. */
  close(): Promise<void> {
    this.#record(this.#running());
    return this.#repeated.close();
  }

  #running(): string[] {
    return this.#service.context.store.endpoints.active().map(({ id }) => id);
  }

  /** Hundreds may run: each turn of the loop records few. */
  #recordInTurns(ids = this.#running()): Promise<void> | undefined {
    this.#record(ids.slice(0, mostAtOnce));
    return ids.length > mostAtOnce ? this.#recordLater(ids.slice(mostAtOnce)) : undefined;
  }

  async #recordLater(ids: readonly string[]): Promise<void> {
    await elapsed(this.#service.context.clock, 0);
    if (!this.#repeated.isClosed) await this.#recordInTurns([...ids]);
  }

  #record(ids: readonly string[]): void {
    if (ids.length === 0) return;
    // A compute that fails, for a mistake of ours, loses its own usage alone.
    const record = (context: ServiceContext, at: number) =>
      context.store.parts(ids, (id) => recordOne(context, id, at));
    unlessFull(() => changeInParts(this.#service, record));
  }
}

function recordOne(context: ServiceContext, id: string, at: number): void {
  const endpoint = context.store.endpoints.byId(id);
  if (!endpoint) return;
  meter(context, endpoint, at);
  context.store.endpoints.update(endpoint);
}
