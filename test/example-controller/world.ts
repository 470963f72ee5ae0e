import type { ClusterRequest, ClusterTransport } from "../../src/operator/kube/transport.ts";
import { type ClusterWeather, calm } from "../simulation/api-server/faults.ts";
import { isJsonObject, type JsonObject } from "../simulation/api-server/objects.ts";
import { ApiServer } from "../simulation/api-server/server.ts";
import { InMemoryClusterTransport } from "../simulation/api-server/transport.ts";
import { seededRandom } from "../simulation/random.ts";
import { definitionOf } from "../support/definition.ts";
import { silentLogger } from "../support/silent-logger.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import { runMirrors } from "./controller.ts";
import { mirrorPatches, ownerLabel } from "./mirror.ts";

export const source = "settings";
export const targets = ["a", "b", "c"] as const;
const mirrors = "/apis/example.dev/v1/namespaces/shop/mirrors";

const strings = { type: "array", items: { type: "string" } };
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** The definition that the API server serves Mirrors from. */
const definition = definitionOf(mirrorPatches.kind, {
  type: "object",
  required: ["spec"],
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { type: "object" },
    spec: {
      type: "object",
      required: ["source", "targets"],
      properties: { source: { type: "string" }, targets: strings },
    },
    status: open,
  },
});

export interface WorldOptions {
  seed: number;
  /** Of the controller's requests. */
  weather?: ClusterWeather;
  settleMs?: number;
  /** Takes the record of a create out of what the controller writes: a planted bug. */
  isWithoutRecord?: boolean;
  /** Where a request ends without an answer, a proxy answers 504. */
  hasProxy?: boolean;
  /** Called for each request of the controller but those for its lease, before it is sent. */
  onRequest?: (request: ClusterRequest, world: MirrorWorld) => void;
}

/** A cluster in memory with users, and one process of the controller at a time. */
export class MirrorWorld {
  readonly clock = new VirtualClock();
  readonly #server: ApiServer;
  readonly #options: WorldOptions;
  readonly #random;
  #process: { life: AbortController } | undefined;
  #processes = 0;
  /** Requests of the controller that change something other than its lease. */
  writes = 0;
  /** Mirrors that had two copies in one namespace at any time, also where the controller deleted one since. */
  readonly twice = new Set<string>();

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#server = new ApiServer({ clock: this.clock, random: this.#random, controllerManager: true });
    this.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
    for (const name of ["shop", ...targets]) this.send("POST", "/api/v1/namespaces", { metadata: { name } });
  }

  /** A request of a user, which always arrives. */
  send(method: ClusterRequest["method"], path: string, body?: unknown): JsonObject {
    const contentType = method === "PATCH" ? "application/json-patch+json" : "application/json";
    const { body: answer } = this.#server.handle({ method, path, body, contentType });
    return isJsonObject(answer) ? answer : {};
  }

  start(): void {
    const life = new AbortController();
    this.#process = { life };
    const inner = new InMemoryClusterTransport(this.#server, this.clock, this.#options.weather ?? calm);
    const transport = this.#mortal(inner, life.signal);
    const identity = `process-${++this.#processes}`;
    const ports = { transport, identity, clock: this.clock, random: this.#random, log: silentLogger };
    void runMirrors({ ...ports, settleMs: this.#options.settleMs ?? 15_000 }, life.signal);
  }

  /** Ends the process as kill -9 does: nothing of it is sent any more, its lease stays, and another one starts. */
  crash(): void {
    this.#process?.life.abort(new Error("the process is dead"));
    this.start();
  }

  #mortal(inner: ClusterTransport, life: AbortSignal): ClusterTransport {
    return {
      request: async (request, options) => {
        life.throwIfAborted();
        this.#watchForTwo();
        if (!request.path.includes("/leases")) {
          if (request.method !== "GET") this.writes += 1;
          this.#options.onRequest?.(request, this);
        }
        // What was sent arrives, also after the death of its sender.
        const sent = this.#options.isWithoutRecord === true ? withoutRecord(request) : request;
        const answer = await inner
          .request(sent, { ...options, signal: AbortSignal.any([]) })
          .catch((error: unknown) => {
            if (this.#options.hasProxy !== true) throw error;
            return { status: 504, body: {} };
          });
        this.#watchForTwo();
        life.throwIfAborted();
        return answer;
      },
      watch: (request, options) => inner.watch(request, options),
    };
  }

  #watchForTwo(): void {
    const seen = new Set<string>();
    for (const { namespace, owner } of this.maps()) {
      if (owner === undefined) continue;
      const place = JSON.stringify([owner, namespace]);
      if (seen.has(place)) this.twice.add(`a Mirror has two copies in ${namespace}`);
      seen.add(place);
    }
  }

  setSource(value: string): void {
    this.setMap("shop", value);
  }

  /** A ConfigMap as a person writes it, made or changed. */
  setMap(namespace: string, value: string): void {
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const body = { metadata: { name: source }, data: { value } };
    const made = this.send("POST", path, body);
    if (made["reason"] === "AlreadyExists")
      this.send("PATCH", `${path}/${source}`, [{ op: "add", path: "/data", value: { value } }]);
  }

  apply(name: string, into: readonly string[]): void {
    const spec = { source, targets: into };
    const made = this.send("POST", mirrors, {
      apiVersion: "example.dev/v1",
      kind: "Mirror",
      metadata: { name },
      spec,
    });
    if (made["reason"] === "AlreadyExists")
      this.send("PATCH", `${mirrors}/${name}`, [{ op: "add", path: "/spec", value: spec }]);
  }

  delete(name: string): void {
    this.send("DELETE", `${mirrors}/${name}`);
  }

  maps(): readonly { namespace: string; value: unknown; owner: unknown }[] {
    return this.#items("", "configmaps").map((map) => {
      const metadata = recordAt(map, "metadata");
      const value = recordAt(map, "data")["value"];
      return { namespace: String(metadata["namespace"]), value, owner: recordAt(metadata, "labels")[ownerLabel] };
    });
  }

  mirrors(): readonly { name: string; uid: unknown; targets: unknown; status: JsonObject; isDeleted: boolean }[] {
    return this.#items("example.dev", "mirrors").map((mirror) => {
      const metadata = recordAt(mirror, "metadata");
      const { name, uid, deletionTimestamp } = metadata;
      const status = recordAt(mirror, "status");
      const into = recordAt(mirror, "spec")["targets"];
      return { name: String(name), uid, targets: into, status, isDeleted: deletionTimestamp !== undefined };
    });
  }

  #items(group: string, plural: string): readonly JsonObject[] {
    return this.#server.store.list(this.#server.resource(group, plural));
  }
}

function recordAt(value: JsonObject, member: string): JsonObject {
  const found = value[member];
  return isJsonObject(found) ? found : {};
}

/** A request with no `pendingWrite` in the status that it writes. */
function withoutRecord(request: ClusterRequest): ClusterRequest {
  if (!request.path.endsWith("/status") || !Array.isArray(request.body)) return request;
  const body = request.body.map((op: unknown) => {
    if (!isJsonObject(op) || op["path"] !== "/status") return op;
    return { ...op, value: { ...recordAt(op, "value"), pendingWrite: undefined } };
  });
  return { ...request, body };
}
