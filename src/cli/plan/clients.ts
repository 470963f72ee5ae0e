import { placeOf } from "../../operator/objects/object.ts";
import { ServiceTime } from "../../operator/project/service-time.ts";
import type { Connection } from "../../operator/resources/cluster-service-connection.ts";
import { defaultRequestBudget } from "../../operator/resources/service-connection.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { type Account, accountFingerprint } from "../../operator/service-client/account.ts";
import { Budgets } from "../../operator/service-client/budgets.ts";
import { ServiceClient } from "../../operator/service-client/client.ts";
import type { ServiceTransport } from "../../operator/service-client/transport.ts";

interface ClientOptions {
  clock: Clock;
  transport: ServiceTransport;
}

/** The client of an account, and the clock of the service that its answers show. */
export interface Reached {
  /** Names base URL, key and certificate authority. */
  id: string;
  client: ServiceClient;
  time: ServiceTime;
}

/** The clients of one command: one for each account, and one budget for all that use the same base URL and key. */
export class Clients {
  readonly #options: ClientOptions;
  readonly #budgets: Budgets;
  readonly #clients = new Map<string, Reached>();

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#budgets = new Budgets(options.clock);
  }

  /** The client of an account, within the `requestBudget` of every connection that it was asked for with. */
  of(account: Account, connection?: Connection): Reached {
    const { transport, clock } = this.#options;
    const fingerprint = accountFingerprint(account);
    const limits = connection?.spec.requestBudget ?? defaultRequestBudget;
    const budget = this.#budgets.join(fingerprint, placeOf(connection?.metadata ?? { name: "" }), limits);
    const id = `${fingerprint} ${account.caBundle ?? ""}`;
    const known = this.#clients.get(id);
    if (known !== undefined) return known;
    const time = new ServiceTime(clock);
    const onDate = (dateMs: number, tookMs: number) => void time.shown(dateMs, tookMs);
    const client = new ServiceClient({ account, transport, budget, clock, beforeWrite: () => {}, onDate });
    const reached = { id, client, time };
    this.#clients.set(id, reached);
    return reached;
  }
}
