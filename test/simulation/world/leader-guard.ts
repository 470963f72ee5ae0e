import type { Clock } from "../../../src/operator/runtime/clock.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import type { ApiServer } from "../api-server/server.ts";

/** A past leader may send the one request that was already past its check, and no more. */
const pastCheck = 1;
/** How long after it began its last good renewal a leader may write, in milliseconds. */
const renewDeadlineMs = 10_000;

/** Never two leaders that write, and none that writes on a lease that it did not renew in time. */
export class LeaderGuard {
  readonly #clock: Clock;
  readonly #server: ApiServer;
  readonly #report: (promise: string, message: string) => void;
  /** How much each process wrote since another holds the Lease. */
  readonly #afterwards = new Map<string, number>();
  /** When each process began the last renewal that it heard was good. */
  readonly #renewed = new Map<string, number>();

  constructor(clock: Clock, server: ApiServer, report: (promise: string, message: string) => void) {
    this.#clock = clock;
    this.#server = server;
    this.#report = report;
  }

  /** Who holds the Lease by its record; absent where nobody does. */
  holder(): string | undefined {
    const [lease] = this.#server.store.list(this.#server.resource("coordination.k8s.io", "leases"));
    return holderOf(lease);
  }

  /** A process heard that it holds the Lease, of a request that it began then. */
  renewed(process: string, begunAt: number): void {
    this.#renewed.set(process, begunAt);
  }

  wrote(process: string, what: string): void {
    const age = this.#clock.monotonic() - (this.#renewed.get(process) ?? Number.POSITIVE_INFINITY);
    if (age >= renewDeadlineMs) {
      this.#report("one leader", `${process} sent ${what} ${Math.round(age)} ms after it began its last good renewal`);
    }
    const holder = this.holder();
    if (holder === undefined || holder === process) {
      this.#afterwards.delete(process);
      return;
    }
    const count = (this.#afterwards.get(process) ?? 0) + 1;
    this.#afterwards.set(process, count);
    if (count > pastCheck) this.#report("one leader", `${process} sent ${what} while ${holder} holds the Lease`);
  }
}

/** Who holds a Lease; absent where nobody does. */
function holderOf(lease: KubeObject | undefined): string | undefined {
  const spec = lease?.["spec"];
  const holder = isJsonObject(spec) ? spec["holderIdentity"] : undefined;
  return typeof holder === "string" && holder !== "" ? holder : undefined;
}
