import { ClaimIndex } from "../../../src/operator/claims/claim-index.ts";
import { ClusterClient } from "../../../src/operator/kube/client.ts";
import type { ClusterRequest, ClusterTransport } from "../../../src/operator/kube/transport.ts";
import { EventHandlers, type EventHandlersOptions } from "../../../src/operator/manager/event-handlers.ts";
import { Informers } from "../../../src/operator/manager/informers.ts";
import { createMetrics } from "../../../src/operator/metrics/metrics.ts";
import type { KubeObject } from "../../../src/operator/objects/object.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { noLines } from "../kube/reflector-world.ts";

/** The objects that the lists answer, by plural; of Secrets those that the selectors of the request select. */
export type Listed = Readonly<Record<string, readonly KubeObject[]>>;

function answerTo({ path, query = {} }: Pick<ClusterRequest, "path" | "query">, listed: Listed): KubeObject[] {
  const [, within, plural = ""] = /(?:\/namespaces\/([^/]+))?\/([^/]+)$/.exec(path) ?? [];
  return (listed[plural] ?? []).filter(({ metadata, ...object }) => {
    if (within !== undefined && metadata.namespace !== within) return false;
    if (query["labelSelector"] !== undefined) return metadata.labels?.[query["labelSelector"]] !== undefined;
    const selected = query["fieldSelector"];
    return selected === undefined || ("type" in object && selected === `type=${String(object.type)}`);
  });
}

/** Informers that have listed these objects, on a clock that a test drives. */
export class HandlersStage implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly informers: Informers;
  readonly claims = new ClaimIndex({ serviceOf: () => "through", isOutsider: () => false });
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  /** Computes of shard `b` are outside the selector. */
  private constructor(listed: Listed) {
    const { clock } = this;
    const transport: ClusterTransport = {
      request: async (request) => ({
        status: 200,
        body: { metadata: { resourceVersion: "1" }, items: answerTo(request, listed) },
      }),
      watch: () => noLines,
    };
    const client = new ClusterClient(transport, { clock, timeoutMs: 1000, signal: this.signal });
    const selects = (labels: Readonly<Record<string, string>> = {}) => labels["shard"] !== "b";
    this.informers = new Informers({
      client,
      clock,
      random: () => 0.5,
      log: silentLogger,
      metrics: createMetrics(),
      namespaces: [],
      selects,
      clusterResourceNamespace: "operators",
    });
    this.#running = this.informers.run(this.signal);
  }

  static async with(listed: Listed): Promise<HandlersStage> {
    const stage = new HandlersStage(listed);
    await stage.clock.advance(100);
    return stage;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Handlers of these informers that do nothing, but for what a test gives. */
  handlers(given: Partial<EventHandlersOptions>): EventHandlers {
    const ignore = () => {};
    return new EventHandlers({
      informers: this.informers,
      claims: this.claims,
      computes: { gone: ignore, changed: ignore, entered: ignore, relisted: ignore, passwordChanged: ignore },
      branches: { relisted: ignore, gone: ignore },
      storedSpecs: { forget: ignore },
      connections: { delivered: ignore, secretDelivered: () => false, awaitsUser: () => true },
      enqueue: ignore,
      pause: () => Promise.resolve(),
      signal: this.#stop.signal,
      log: silentLogger,
      ...given,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.clock.advance(60_000);
    await this.#running;
  }
}
