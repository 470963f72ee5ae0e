import { setTimeout as sleep } from "node:timers/promises";
import { HttpTransport } from "../../src/operator/kube/http-transport.ts";
import { loadKubeConfig } from "../../src/operator/kube/kubeconfig.ts";
import type { ClusterRequest, ClusterTransport } from "../../src/operator/kube/transport.ts";
import { createOperator } from "../../src/operator/operator.ts";
import { createLogger } from "../../src/operator/runtime/log.ts";
import type { ServiceTransport } from "../../src/operator/service-client/transport.ts";
import { cryptoIds } from "../../src/service/ids.ts";
import { Seed } from "../../src/service/seed/document.ts";
import { applySeed } from "../../src/service/seed/seed.ts";
import { createService } from "../../src/service/service.ts";
import { Store } from "../../src/service/store/store.ts";
import { realClock } from "../support/real-clock.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import { type Project, seedOf } from "./manifests.ts";

/** How long the API server is given to deliver on a watch what a request has changed, in real milliseconds. */
const deliveryMs = 25;

/**
 * Operator and service in this process on one clock that a test drives, over a real API server: time stands still
 * while a request to it is under way.
 */
export class DrivenOperator implements AsyncDisposable {
  readonly clock: VirtualClock;
  /** Requests to the service, e.g. `GET /projects/shop/endpoints`. */
  serviceRequests: string[] = [];
  /** Requests to the API server, without the watches. */
  clusterRequests: ClusterRequest[] = [];
  readonly #stop = new AbortController();
  readonly #transport: HttpTransport;
  readonly #running: Promise<void>;
  #underWay = 0;
  #begun = 0;

  constructor(options: { kubeconfig: string; namespace: string; baseURL: string; projects: readonly Project[] }) {
    const { kubeconfig, namespace, baseURL, projects } = options;
    this.clock = new VirtualClock({ startMs: Date.now(), settle: () => this.#settle() });
    const connection = loadKubeConfig({ file: kubeconfig, env: {} });
    this.#transport = new HttpTransport({ connection, clock: realClock, userAgent: "compute-operator/test" });
    const { clock } = this;
    const operator = createOperator(
      {
        clusterTransport: this.#countedCluster(),
        serviceTransport: this.#serviceOf(projects),
        clock,
        random: Math.random,
        log: createLogger({ level: "error", clock, destination: { write: (line) => console.error(line) } }),
      },
      {
        namespaces: [namespace],
        selects: () => true,
        workers: 8,
        allowedBaseURLs: [baseURL],
        createSettleMs: 60_000,
        maxDeletesPerMinute: 60,
        budgetShare: 1,
        drainMs: 1000,
        lease: { namespace, name: "compute-operator", identity: "driven" },
      },
    );
    this.#running = operator.run(this.#stop.signal);
  }

  /** What the operator changed at the API server, the lease aside, e.g. `PATCH /apis/…/computes/shop/status`. */
  get writes(): string[] {
    return this.clusterRequests
      .filter(({ method, path }) => method !== "GET" && !path.includes("/leases"))
      .map(({ method, path }) => `${method} ${path}`);
  }

  /** Forgets all requests so far. */
  clear(): void {
    this.serviceRequests = [];
    this.clusterRequests = [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const ended = this.#running.then(() => true);
    while (!(await Promise.race([ended, sleep(20, false)]))) await this.clock.advance(1000);
    await this.#transport.close();
  }

  #countedCluster(): ClusterTransport {
    return {
      request: async (request, options) => {
        this.clusterRequests.push(request);
        this.#begun += 1;
        this.#underWay += 1;
        try {
          return await this.#transport.request(request, options);
        } finally {
          this.#underWay -= 1;
        }
      },
      watch: (request, options) => this.#transport.watch(request, options),
    };
  }

  #serviceOf(projects: readonly Project[]): ServiceTransport {
    const service = createService({
      clock: this.clock,
      random: Math.random,
      ids: cryptoIds(),
      store: Store.open(":memory:"),
    });
    const seed = Seed.parse(JSON.parse(seedOf(projects)));
    service.change((world, at) => applySeed(world, seed, at));
    return {
      send: ({ method, path, query = {}, body, key }) => {
        this.serviceRequests.push(`${method} ${path}`);
        const reply = service.call({
          method,
          path: `/api/v2${path}`,
          query,
          headers: { authorization: key.authorization() },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        return Promise.resolve({ status: reply.status, body: JSON.parse(reply.body ?? "null"), json: true });
      },
    };
  }

  /** Lets everything that needs no time go on; where a request was sent, until its answer and its events are there. */
  async #settle(): Promise<void> {
    let seen: number;
    do {
      seen = this.#begun;
      await new Promise((resolve) => setImmediate(resolve));
      while (this.#underWay > 0) await sleep(1);
      if (seen !== this.#begun) await sleep(deliveryMs);
    } while (seen !== this.#begun);
  }
}
