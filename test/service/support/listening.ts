import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import { createApp, type ListenOptions, listen } from "../../../src/service/http/server.ts";
import { cryptoIds } from "../../../src/service/ids.ts";
import type { ServiceOptions } from "../../../src/service/options.ts";
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

/** The shop's service over HTTP in this process, with a record of every answer. */
export class ListeningShop implements AsyncDisposable {
  readonly core: Service;
  readonly baseURL: string;
  readonly sent: Sent[];
  readonly #close: () => Promise<void>;

  static async start(
    options: Partial<ServiceOptions> = {},
    listenOptions: Pick<ListenOptions, "requestTimeoutMs"> = {},
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
    const recorder = new Hono<{ Bindings: HttpBindings }>();
    recorder.use(async (context, next) => {
      await next();
      const { res, req } = context;
      const known = res.headers.get("x-hono-already-sent") !== null ? "" : await res.clone().text();
      sent.push({ method: req.method, path: new URL(req.url).pathname, status: res.status, body: known });
    });
    recorder.route("/", createApp(core));
    const listening = await listen(recorder, { host: "127.0.0.1", port: 0, ...listenOptions });
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
