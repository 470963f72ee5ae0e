import { meter } from "../computes/meter.ts";
import { unlessFull } from "../refusal.ts";
import { Repeated } from "../repeated.ts";
import type { DrivenService } from "./driven-service.ts";

/** Interval at which usage is recorded, in milliseconds: of a process that is killed, no more than this is lost. */
const everyMs = 600_000;

/**
 * Records the usage of running computes also while nobody comes or goes: when the service begins again, they are idle,
 * and usage that was shown and not recorded would be gone.
 */
export class UsageKeeper {
  readonly #service: DrivenService;
  readonly #repeated: Repeated;

  constructor(service: DrivenService) {
    this.#service = service;
    this.#repeated = new Repeated(service.context.clock, everyMs, () => this.#record());
  }

  begin(): void {
    this.#repeated.begin();
  }

  /** To be called while the clients are still there, by whom the size of a compute counts. */
  close(): Promise<void> {
    this.#record();
    return this.#repeated.close();
  }

  #record(): void {
    if (this.#service.context.store.endpoints.active().length === 0) return;
    unlessFull(() =>
      this.#service.change((context, at) => {
        for (const endpoint of context.store.endpoints.active()) {
          meter(context, endpoint, at);
          context.store.endpoints.update(endpoint);
        }
      }),
    );
  }
}
