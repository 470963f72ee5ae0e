import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterRequest, ClusterTransport } from "../../src/operator/kube/transport.ts";
import { inMemorySettings } from "../integration/support/in-memory.ts";
import { InProcessOperator } from "../integration/support/in-process-operator.ts";
import type { SeededService } from "../integration/support/seeded-service.ts";
import { InMemoryServices } from "../support/in-memory-system.ts";
import { VirtualClock } from "../support/virtual-clock.ts";

/** How long the API server is given to deliver on a watch what a request has changed, in real milliseconds. */
const deliveryMs = 25;

/**
 * Operator and service in this process on one clock that a test drives, over a real API server: time stands still
 * while a request to it is under way.
 */
export class DrivenOperator implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly services: InMemoryServices;
  /** Requests to the API server, without the watches. */
  clusterRequests: ClusterRequest[] = [];
  readonly #operator: InProcessOperator;
  #underWay = 0;
  #begun = 0;

  constructor({ kubeconfig, namespace, seed }: { kubeconfig: string; namespace: string; seed: SeededService }) {
    this.clock = new VirtualClock({ startMs: Date.now(), settle: () => this.#settle() });
    this.services = new InMemoryServices(this.clock, seed);
    this.#operator = new InProcessOperator({
      kubeconfig,
      clock: this.clock,
      around: (inner) => this.#counted(inner),
      serviceTransport: this.services.network,
      settings: {
        ...inMemorySettings,
        namespaces: [namespace],
        lease: { namespace, name: "compute-operator", identity: "driven" },
      },
    });
    this.#operator.start();
  }

  /** Requests to the service, e.g. `GET /projects/shop/endpoints`. */
  get serviceRequests(): string[] {
    return this.services.host.calls.map(({ method, path }) => `${method} ${path}`);
  }

  /** What the operator changed at the API server, the lease aside, e.g. `PATCH /apis/…/computes/shop/status`. */
  get writes(): string[] {
    return this.clusterRequests
      .filter(({ method, path }) => method !== "GET" && !path.includes("/leases"))
      .map(({ method, path }) => `${method} ${path}`);
  }

  /** Forgets all requests so far. */
  clear(): void {
    this.services.host.calls.length = 0;
    this.clusterRequests = [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = this.#operator[Symbol.asyncDispose]().then(() => true);
    while (!(await Promise.race([ended, sleep(20, false)]))) await this.clock.advance(1000);
  }

  #counted(inner: ClusterTransport): ClusterTransport {
    return {
      request: async (request, options) => {
        this.clusterRequests.push(request);
        this.#begun += 1;
        this.#underWay += 1;
        try {
          return await inner.request(request, options);
        } finally {
          this.#underWay -= 1;
        }
      },
      watch: (request, options) => inner.watch(request, options),
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
