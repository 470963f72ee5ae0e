import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ClusterTransport } from "../../../src/operator/kube/transport.ts";
import { serveHealth } from "../../../src/operator/manager/health.ts";
import { createOperator } from "../../../src/operator/operator.ts";
import { ApiServer } from "../../simulation/api-server/server.ts";
import { InMemoryClusterTransport } from "../../simulation/api-server/transport.ts";
import { seededRandom } from "../../simulation/random.ts";
import { freePort } from "../../support/ports.ts";
import { installCRDs } from "../../support/shipped-crd.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const minute = 60_000;

/** An operator over an API server in memory, whose answers to writes can be withheld, and its probes over HTTP. */
class Probed implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly server = new ApiServer({ clock: this.clock, random: seededRandom(1) });
  /** While set, no write is ever answered, whatever its deadline says: the worker that sent it is lost. */
  withheld: PromiseWithResolvers<void> | undefined;
  /** Of the operator to the API server, watches included. */
  requests = 0;
  /** Why the operator ended unexpectedly. */
  failure: unknown;
  readonly #stop = new AbortController();
  #url = "";
  #close = () => {};
  #running: Promise<void> = Promise.resolve();

  async start(settings: { readonly workers: number } = { workers: 4 }): Promise<void> {
    const operator = createOperator(
      {
        clusterTransport: this.#transport(),
        serviceTransport: { send: () => new Promise(() => {}) },
        clock: this.clock,
        random: () => 0.5,
        log: silentLogger,
      },
      {
        namespaces: [],
        selects: () => true,
        get workers() {
          return settings.workers;
        },
        allowedBaseURLs: ["https://service.test/api/v2"],
        createSettleMs: minute,
        maxDeletesPerMinute: 60,
        budgetShare: 1,
        drainMs: 1000,
      },
    );
    const port = await freePort();
    const server = await serveHealth(operator, port, silentLogger);
    this.#url = `http://127.0.0.1:${port}`;
    this.#close = () => {
      server.close();
      server.closeAllConnections();
    };
    this.#running = operator.run(this.#stop.signal).catch((error: unknown) => {
      this.failure = error;
    });
    await this.clock.advance(1000);
  }

  install(crd: string): void {
    installCRDs(this.server, [crd]);
  }

  /** A connection that the operator has to write to before it does anything else. */
  connect(name: string): void {
    const spec = { baseURL: "https://service.test/api/v2", apiKeySecretRef: { name: "none" } };
    const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections";
    this.#post(path, { metadata: { name }, spec });
  }

  async probe(path: string): Promise<[number, string]> {
    const answer = await fetch(this.#url + path);
    return [answer.status, (await answer.text()).trim()];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.withheld?.resolve();
    this.#stop.abort();
    await this.clock.advance(minute);
    await this.#running;
    this.#close();
    if (this.failure !== undefined) throw this.failure;
  }

  #transport(): ClusterTransport {
    const inner = new InMemoryClusterTransport(this.server, this.clock);
    return {
      request: async (request, options) => {
        this.requests += 1;
        if (request.method !== "GET") await this.withheld?.promise;
        return inner.request(request, options);
      },
      watch: (request, options) => {
        this.requests += 1;
        return inner.watch(request, options);
      },
    };
  }

  #post(path: string, body: unknown): void {
    const { status, body: answer } = this.server.handle({ method: "POST", path, body });
    if (status >= 300) throw new Error(JSON.stringify(answer));
  }
}

let probed: Probed;
beforeEach(() => {
  probed = new Probed();
});
afterEach(() => probed[Symbol.asyncDispose]());

it("an operator that fails as it begins to lead exits, and does not stay and seem healthy", async () => {
  const failure = new Error("no term can begin");
  for (const crd of ["computes", "serviceconnections", "computepools"]) probed.install(crd);
  await probed.start({
    get workers(): number {
      throw failure;
    },
  });
  await probed.clock.advance(minute);
  expect(probed.failure).toBe(failure);
  const { requests } = probed;
  await probed.clock.advance(60 * minute);
  expect(probed.requests).toBe(requests);
  probed.failure = undefined;
});

describe("/readyz", () => {
  it("fails and names the kind whose CRD is missing, and succeeds once it is there", async () => {
    probed.install("computes");
    probed.install("serviceconnections");
    await probed.start();
    const [status, reported] = await probed.probe("/readyz");
    expect([status, reported]).toEqual([503, expect.stringContaining("no complete list yet of ComputePool:")]);
    await probed.clock.advance(10 * minute);
    expect(await probed.probe("/readyz")).toEqual([503, reported]);
    expect(await probed.probe("/healthz")).toEqual([200, "ok"]);

    probed.install("computepools");
    await probed.clock.advance(minute);
    expect(await probed.probe("/readyz")).toEqual([200, "ok"]);
  });
});

describe("/healthz", () => {
  beforeEach(async () => {
    for (const crd of ["computes", "serviceconnections", "computepools"]) probed.install(crd);
    await probed.start();
  });

  it("fails when work waits and no pass ends for two minutes, and succeeds again when one does", async () => {
    probed.withheld = Promise.withResolvers();
    // One more than there are workers for connections.
    for (const name of ["one", "two", "three"]) probed.connect(name);
    await probed.clock.advance(119_000);
    expect(await probed.probe("/healthz")).toEqual([200, "ok"]);
    await probed.clock.advance(2_000);
    expect(await probed.probe("/healthz")).toEqual([503, "1 waiting, and no reconcile has ended for two minutes"]);
    expect(await probed.probe("/readyz")).toEqual([200, "ok"]);

    probed.withheld.resolve();
    await probed.clock.advance(1000);
    expect(await probed.probe("/healthz")).toEqual([200, "ok"]);
  });

  it("succeeds where nothing waits, however long nothing has happened", async () => {
    await probed.clock.advance(600 * minute);
    expect(await probed.probe("/healthz")).toEqual([200, "ok"]);
  });
});

it("a scrape that throws is answered with 500 and logged, and the process goes on", async () => {
  const logged: string[] = [];
  const failing = {
    metrics: {
      contentType: "text/plain; version=0.0.4; charset=utf-8",
      text: () => Promise.reject(new Error("a defect")),
    },
    stuck: () => undefined,
    unready: () => {
      throw new Error("another");
    },
  };
  const port = await freePort();
  const server = await serveHealth(failing, port, { error: (_, message) => void logged.push(message) });
  const status = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  expect([await status("/metrics"), await status("/readyz"), await status("/healthz")]).toEqual([500, 500, 200]);
  expect(logged).toHaveLength(2);
  server.close();
  server.closeAllConnections();
});

it("a query after the path of a probe changes nothing", async () => {
  await probed.start();
  expect(await probed.probe("/healthz?verbose")).toEqual([200, "ok"]);
});
