import { ClusterClient, type ClusterClientOptions } from "../../../src/operator/kube/client.ts";
import type { ClusterRequest } from "../../../src/operator/kube/transport.ts";
import { type ClusterWeather, calm, type RequestFate, type WatchFate } from "../../simulation/api-server/faults.ts";
import { ApiServer } from "../../simulation/api-server/server.ts";
import { InMemoryClusterTransport } from "../../simulation/api-server/transport.ts";
import { seededRandom } from "../../simulation/random.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { type ConfigMap, configMap, configMaps } from "./config-maps.ts";

/** An API server in memory on a clock that a test drives, and how it is reached. */
export class MemoryCluster {
  readonly clock = new VirtualClock();
  readonly server: ApiServer;
  readonly requests: ClusterRequest[] = [];
  readonly watches: string[] = [];
  /** What becomes of each request; answered at once where it says nothing. */
  fate: (request: ClusterRequest) => RequestFate | undefined = () => undefined;
  /** Whether watches may be opened. */
  watchable = true;
  /** What the API server answers to each attempt to open one; opened where it says nothing. */
  watchFate: () => WatchFate | undefined = () => undefined;
  readonly #transports: InMemoryClusterTransport[] = [];

  constructor(seed = 1) {
    this.server = new ApiServer({ clock: this.clock, random: seededRandom(seed) });
  }

  transport(weather: Partial<ClusterWeather> = {}): InMemoryClusterTransport {
    const transport = new InMemoryClusterTransport(this.server, this.clock, {
      ...calm,
      request: (request, timeoutMs) => {
        this.requests.push(request);
        return this.fate(request) ?? calm.request(request, timeoutMs);
      },
      watchOpens: (path) => {
        this.watches.push(path);
        return this.watchable ? (this.watchFate() ?? { kind: "opened" }) : { kind: "refused" };
      },
      ...weather,
    });
    this.#transports.push(transport);
    return transport;
  }

  client(
    options: Partial<Pick<ClusterClientOptions, "beforeSend" | "onAnswer" | "timeoutMs">> & {
      weather?: Partial<ClusterWeather>;
    } = {},
  ) {
    const { weather, timeoutMs = 3000, ...rest } = options;
    const signal = new AbortController().signal;
    return new ClusterClient(this.transport(weather), { clock: this.clock, timeoutMs, signal, ...rest });
  }

  /** Somebody else's view and hand, past all weather. */
  readonly outside = {
    create: (name: string, data: Record<string, string> = {}): ConfigMap =>
      this.#done({ method: "POST", path: collection, body: { ...configMap("default", name), data } }),
    change: (name: string, data: Record<string, string>): ConfigMap =>
      this.#done({
        method: "PATCH",
        path: `${collection}/${name}`,
        body: [{ op: "add", path: "/data", value: data }],
        contentType: "application/json-patch+json",
      }),
    delete: (name: string): void => {
      this.server.handle({ method: "DELETE", path: `${collection}/${name}` });
    },
    names: (): string[] => listedNames(this.server.handle({ method: "GET", path: collection }).body),
  };

  cutWatches(): void {
    for (const transport of this.#transports) transport.cutWatches();
  }

  lists(): ClusterRequest[] {
    return this.requests.filter(({ method, path }) => method === "GET" && path === collectionOfAll);
  }

  #done(request: ClusterRequest): ConfigMap {
    const { status, body } = this.server.handle(request);
    if (status >= 300 || !isConfigMap(body)) throw new Error(`${request.method} ${request.path}: ${status}`);
    return body;
  }
}

const collectionOfAll = `/api/v1/${configMaps.plural}`;
const collection = `/api/v1/namespaces/default/${configMaps.plural}`;

function isConfigMap(body: unknown): body is ConfigMap {
  return typeof body === "object" && body !== null && "kind" in body && body.kind === "ConfigMap";
}

function listedNames(body: unknown): string[] {
  if (typeof body !== "object" || body === null || !("items" in body) || !Array.isArray(body.items)) return [];
  return body.items.map((item: ConfigMap) => item.metadata.name);
}
