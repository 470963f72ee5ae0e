import type { ServiceCall, ServiceReply } from "../../../src/service/http/message.ts";
import { type ListenOptions, listen } from "../../../src/service/http/server.ts";
import type { SqlAccess } from "../../../src/service/http/sql-access.ts";
import { cryptoIds } from "../../../src/service/ids.ts";
import type { ServiceOptions } from "../../../src/service/options.ts";
import type { Refusal } from "../../../src/service/refusal.ts";
import { Seed } from "../../../src/service/seed/document.ts";
import { applySeed } from "../../../src/service/seed/seed.ts";
import { createService, type Service } from "../../../src/service/service.ts";
import { Store } from "../../../src/service/store/store.ts";
import { realClock } from "../../support/real-clock.ts";
import { shopSeed } from "./shop.ts";

/** An answer as it went out. */
export interface Sent {
  method: string;
  path: string;
  status: number;
  body: string;
}

/** An answer that is waited for: a list that takes more than a turn of the loop, or a schema. */
async function recordLate(record: Sent, later: Promise<ServiceReply> | undefined): Promise<void> {
  if (later === undefined) return;
  const { status, body = "" } = await later;
  Object.assign(record, { status, body });
}

/** The shop's service over HTTP in this process, with a record of every answer. */
export class ListeningShop implements AsyncDisposable {
  readonly core: Service;
  readonly baseURL: string;
  readonly sent: Sent[];
  readonly #close: () => Promise<void>;

  static async start(
    options: Partial<ServiceOptions> = {},
    listenOptions: Omit<ListenOptions, "host" | "port"> = {},
    sql?: SqlAccess,
  ): Promise<ListeningShop> {
    const core = createService({
      clock: realClock,
      random: Math.random,
      ids: cryptoIds(),
      store: Store.open(":memory:"),
      options,
    });
    core.change((context, at) => applySeed(context, Seed.parse(shopSeed), at));
    const sent: Sent[] = [];
    const recording = {
      context: core.context,
      bodyRoom: (call: ServiceCall) => core.bodyRoom(call),
      callerOf: (call: ServiceCall) => core.callerOf(call),
      reached: (call: ServiceCall) => core.reached(call),
      internalError: (error: unknown) => core.internalError(error),
      refused: (call: ServiceCall, refusal: Refusal) => core.refused(call, refusal),
      exchange(call: ServiceCall) {
        const exchange = core.exchange(call);
        const answered = exchange.kind === "answer" ? exchange.reply : undefined;
        const { status = 200, body = "" } = answered ?? {};
        const record = { method: call.head === true ? "HEAD" : call.method, path: call.path, status, body };
        sent.push(record);
        void recordLate(record, answered?.later);
        return exchange;
      },
    };
    const listening = await listen(recording, { host: "127.0.0.1", port: 0, ...listenOptions }, sql);
    return new ListeningShop(core, `http://127.0.0.1:${listening.port}/api/v2`, sent, () => listening.close());
  }

  private constructor(core: Service, baseURL: string, sent: Sent[], close: () => Promise<void>) {
    this.core = core;
    this.baseURL = baseURL;
    this.sent = sent;
    this.#close = close;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    this.core.close();
  }
}
