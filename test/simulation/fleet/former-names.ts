import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { Shown } from "./judge.ts";

/** Which names the endpoints bore before, and until when. */
export class FormerNames {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #present = new Map<string, string>();
  readonly #former: { id: string; name: string; until: number }[] = [];

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** To be called before and after each write. */
  see(endpoints: readonly Shown[]): void {
    for (const { id, name = "" } of endpoints) {
      const before = this.#present.get(id);
      if (before === name) continue;
      if (before !== undefined) this.#former.push({ id, name: before, until: this.#clock.monotonic() });
      this.#present.set(id, name);
    }
  }

  /** Those that an endpoint bore within the last `ms`, its present one left out. */
  lately(endpointID: string, ms: number): string[] {
    const since = this.#clock.monotonic() - ms;
    return this.#former.filter(({ id, until }) => id === endpointID && until >= since).map(({ name }) => name);
  }
}
