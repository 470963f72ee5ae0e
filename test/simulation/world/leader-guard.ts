import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import type { ApiServer } from "../api-server/server.ts";

/** A past leader may send the one request that was already past its check, and no more. */
const pastCheck = 1;

/** Never two leaders that write. */
export class LeaderGuard {
  readonly #server: ApiServer;
  readonly #report: (promise: string, message: string) => void;
  /** How much each process wrote since another holds the Lease. */
  readonly #afterwards = new Map<string, number>();

  constructor(server: ApiServer, report: (promise: string, message: string) => void) {
    this.#server = server;
    this.#report = report;
  }

  /** Who holds the Lease by its record; absent where nobody does. */
  holder(): string | undefined {
    const [lease] = this.#server.store.list(this.#server.resource("coordination.k8s.io", "leases"));
    return holderOf(lease);
  }

  wrote(process: string, what: string): void {
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
