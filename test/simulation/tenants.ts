import { sleep } from "../../src/operator/runtime/clock.ts";
import { createLogger } from "../../src/operator/runtime/log.ts";
import {
  NoResponseError,
  type ServiceRequest,
  type ServiceResponse,
  type ServiceTransport,
} from "../../src/operator/service-client/transport.ts";
import type { Service } from "../../src/service/service.ts";
import { goodKey, newService, type SeededService } from "../integration/support/seeded-service.ts";
import { group, InMemoryCluster } from "../support/in-memory-system.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import { calm } from "./api-server/faults.ts";
import type { JsonObject } from "./api-server/objects.ts";
import type { ApiServer } from "./api-server/server.ts";
import type { ApiFront } from "./api-server/transport.ts";
import { seededRandom } from "./random.ts";

/** What a service does with a request: an answer after some time, or none ever. */
export type Behaviour = (request: ServiceRequest) => { afterMs: number; answer: ServiceResponse } | "silence";

export interface TenantsOptions {
  allowedBaseURLs?: readonly string[];
}

/** Namespace of the operator. */
const ownNamespace = "compute-operator-system";
/** How long a service that means well takes to answer, and the API server too. */
const answersAfterMs = 20;

/**
 * Several tenants, each with a namespace and a service of its own, and one operator between them, all in this process
 * on a driven clock. The API server takes its time, so that what a tenant does costs the others what it would cost.
 */
export class Tenants extends InMemoryCluster {
  /** Requests to each service, by host. */
  readonly requests: Map<string, number>;
  /** Requests to the API server, as `METHOD resource`. */
  readonly written: Map<string, number>;
  readonly #ways: Ways;

  constructor({ allowedBaseURLs = ["http://*.test/api/v2"] }: TenantsOptions = {}) {
    const clock = new VirtualClock();
    const ways = new Ways(clock);
    const destination = {
      write: () => {
        ways.lines += 1;
      },
    };
    super({
      clock,
      random: seededRandom(7),
      rights: (server) => ways.counted(server),
      weather: { ...calm, request: () => ({ kind: "answered", arriveMs: 2, replyMs: 2 }) },
      serviceTransport: ways,
      log: createLogger({ level: "info", destination, clock }),
      settings: { clusterResourceNamespace: ownNamespace, allowedBaseURLs },
    });
    this.#ways = ways;
    this.requests = ways.requests;
    this.written = ways.written;
    this.start();
  }

  /** Number of lines that the operator has logged. */
  get lines(): number {
    return this.#ways.lines;
  }

  /** A namespace with a key and connections, `default` and more, that lead to this host. */
  tenant(
    namespace: string,
    host: string,
    { connections = 1, spec = {} }: { connections?: number; spec?: JsonObject } = {},
  ) {
    this.send("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    for (let n = 0; n < connections; n += 1) {
      const key = Buffer.from(n === 0 ? goodKey : `${goodKey}-${n}`).toString("base64");
      const secret = `service-api-key-${n}`;
      this.send("POST", `/api/v1/namespaces/${namespace}/secrets`, {
        metadata: { name: secret },
        type: "compute-operator.dev/api-key",
        data: { "api-key": key },
      });
      this.send("POST", `${group}/namespaces/${namespace}/serviceconnections`, {
        apiVersion: "compute-operator.dev/v1alpha1",
        kind: "ServiceConnection",
        metadata: { name: n === 0 ? "default" : `other-${n}` },
        spec: { baseURL: `http://${host}/api/v2`, apiKeySecretRef: { name: secret }, ...spec },
      });
    }
  }

  /** A ClusterServiceConnection of this name for all namespaces, which leads to this host. */
  share(name: string, host: string, requestBudget: { perMinute: number; burst: number }): void {
    this.send("POST", "/api/v1/namespaces", { metadata: { name: ownNamespace } });
    this.send("POST", `/api/v1/namespaces/${ownNamespace}/secrets`, {
      metadata: { name },
      type: "compute-operator.dev/api-key",
      data: { "api-key": Buffer.from(goodKey).toString("base64") },
    });
    this.send("POST", `${group}/clusterserviceconnections`, {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ClusterServiceConnection",
      metadata: { name },
      spec: {
        baseURL: `http://${host}/api/v2`,
        apiKeySecretRef: { name },
        namespaceSelector: {},
        allowedProjects: ["*"],
        requestBudget,
      },
    });
  }

  /** The real service under this name, with these branches, as quick as services are; `refuses` keys in projects. */
  healthy(
    host: string,
    branches: readonly string[],
    refuses: (key: string) => ServiceResponse | undefined = () => undefined,
    projects: SeededService["projects"] = [],
  ): Service {
    const service = newService({ branches, projects, clock: this.clock, service: { timeScale: 1000 } });
    this.#ways.hosts.set(host, ({ method, path, query, body, key }) => {
      const answersTo = key.authorization().replace("Bearer ", "");
      const refused = refuses(answersTo);
      if (refused !== undefined) {
        const nothing = { auth_method: "api_key_user", projects: [] };
        const answer = path.startsWith("/projects/") ? refused : { status: 200, json: true, body: nothing };
        return { afterMs: answersAfterMs, answer };
      }
      const reply = service.call({
        method,
        path: `/api/v2${path}`,
        query: query ?? {},
        headers: { authorization: key.authorization() },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = reply.body ?? "";
      const answer = { status: reply.status, json: text !== "", body: text === "" ? undefined : JSON.parse(text) };
      return { afterMs: answersAfterMs, answer };
    });
    return service;
  }

  behaves(host: string, behaviour: Behaviour): void {
    this.#ways.hosts.set(host, behaviour);
  }

  declare(namespace: string, name: string, spec: JsonObject, metadata: JsonObject = {}): void {
    this.send("POST", `${group}/namespaces/${namespace}/computes`, {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "Compute",
      metadata: { name, ...metadata },
      spec,
    });
  }

  /** Changes fields of a spec. */
  edit(namespace: string, name: string, spec: JsonObject): void {
    const path = `${group}/namespaces/${namespace}/computes/${name}`;
    const found = this.send("GET", path);
    this.send("PUT", path, { ...found, spec: { ...found.spec, ...spec } });
  }
}

/** The ways of the operator to the services and to the API server, counted. */
class Ways implements ServiceTransport {
  readonly hosts = new Map<string, Behaviour>();
  readonly requests = new Map<string, number>();
  readonly written = new Map<string, number>();
  lines = 0;
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  counted(server: ApiServer): ApiFront {
    return {
      store: server.store,
      watch: server.watch.bind(server),
      handle: (request, asOf) => {
        const what = `${request.method} ${request.path.split("/").find((part) => /^(computes|events|secrets|serviceconnections|computepools)$/.test(part)) ?? ""}`;
        this.written.set(what, (this.written.get(what) ?? 0) + 1);
        return server.handle(request, asOf);
      },
    };
  }

  async send(
    request: ServiceRequest,
    { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
  ): Promise<ServiceResponse> {
    const { host } = new URL(request.baseURL);
    this.requests.set(host, (this.requests.get(host) ?? 0) + 1);
    const behaviour = this.hosts.get(host);
    const outcome = behaviour === undefined ? "silence" : behaviour(request);
    if (outcome === "silence" || outcome.afterMs > timeoutMs) {
      await sleep(this.#clock, timeoutMs, signal);
      throw new NoResponseError("no answer in time");
    }
    await sleep(this.#clock, outcome.afterMs, signal);
    return outcome.answer;
  }
}
