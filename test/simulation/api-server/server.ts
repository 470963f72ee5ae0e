import type { ClusterRequest, ClusterResponse } from "../../../src/operator/kube/transport.ts";
import type { Cancel, Clock, Random } from "../../../src/operator/runtime/clock.ts";
import { runDefinitionCleanup, runGarbageCollector, runNamespaceController } from "./controllers.ts";
import { type CreateContext, create } from "./create.ts";
import { remove } from "./delete.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { list } from "./list.ts";
import { isJsonObject, type JsonObject, type KubeObject } from "./objects.ts";
import { Refusal, refuse } from "./refusal.ts";
import { builtInResources, customResourceDefinitions, namespaces, type Resource, resourcesOf } from "./resources.ts";
import { parseRoute, type Route } from "./route.ts";
import { Store } from "./store.ts";
import { update } from "./update.ts";
import { openWatch, type WatchSink } from "./watch.ts";

export interface ApiServerOptions {
  clock: Clock;
  random: Random;
  /** Whether the controllers of kube-controller-manager run: a namespace's end, owner garbage collection. */
  controllerManager?: boolean;
}

/**
 * A Kubernetes API server in memory: what the operator relies on of kube-apiserver, held against the real one by
 * the conformance suite. It answers at once; latency and faults belong to the transport in front of it.
 */
export class ApiServer {
  readonly store = new Store();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #create: CreateContext;
  #resources: readonly Resource[] = builtInResources;
  /** Paths that were read already, as long as the same resources are served. */
  readonly #routes = new Map<string, Route>();

  constructor(options: ApiServerOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    const timestamp = () => this.#timestamp();
    this.#create = { store: this.store, timestamp, uid: () => this.#uid(), suffix: () => this.#uid().slice(-5) };
    this.store.subscribe(({ resource }) => {
      if (resource !== customResourceDefinitions) return;
      this.#resources = [...builtInResources, ...this.store.list(resource).flatMap(resourcesOf)];
      this.#routes.clear();
    });
    const controllers = { store: this.store, clock: options.clock, timestamp, resources: () => this.#resources };
    runDefinitionCleanup(controllers);
    if (options.controllerManager ?? false) {
      runNamespaceController(controllers);
      runGarbageCollector(controllers);
    }
    for (const name of ["default", "kube-system"]) create(this.#create, namespaces, undefined, { metadata: { name } });
  }

  /** Carries a request out now. `asOf` makes a list show the cluster as it stood at an earlier revision. */
  handle(request: ClusterRequest, asOf?: number): ClusterResponse {
    try {
      return this.#answer(request, asOf);
    } catch (error) {
      if (error instanceof Refusal) return error.toResponse();
      throw error;
    }
  }

  /** Opens a watch whose lines go to `sink` the moment they happen; answers the refusal if it may not be opened. */
  watch(path: string, query: Readonly<Record<string, string>>, sink: WatchSink): Cancel | ClusterResponse {
    try {
      const { resource, namespace } = this.#route(path);
      const context = { store: this.store, clock: this.#clock, random: this.#random };
      return openWatch(context, resource, namespace, query, sink);
    } catch (error) {
      if (error instanceof Refusal) return error.toResponse();
      throw error;
    }
  }

  /** The resource that is served under this name, for those who look into the store. */
  resource(group: string, plural: string): Resource {
    const found = this.#resources.find((resource) => resource.group === group && resource.plural === plural);
    if (!found) throw new Error(`no ${plural} are served in group "${group}"`);
    return found;
  }

  /** Everything is lost, as when etcd is: definitions and history included. */
  wipe(): void {
    this.store.wipe(this.#resources.toReversed());
    for (const name of ["default", "kube-system"]) create(this.#create, namespaces, undefined, { metadata: { name } });
  }

  /** etcd is restored from a backup that was made at this revision. */
  restore(revision: number): void {
    this.store.restore(this.#resources, revision);
  }

  serves(group: string, plural: string): boolean {
    return this.#resources.some((resource) => resource.group === group && resource.plural === plural);
  }

  #answer(request: ClusterRequest, asOf: number | undefined): ClusterResponse {
    const route = this.#route(request.path);
    if (route.name === undefined) return this.#onCollection(request, route, asOf);
    const current = this.store.get(route.resource, route.namespace, route.name);
    if (!current) throw refuse.notFound(route.resource, route.name);
    const { resource, subresource: part = "object" } = route;
    switch (request.method) {
      case "GET":
        return { status: 200, body: current };
      case "PUT":
        return { status: 200, body: update(this.store, resource, part, current, bodyOf(request), "PUT") };
      case "PATCH":
        return { status: 200, body: update(this.store, resource, part, current, patched(request, current), "PATCH") };
      case "DELETE":
        if (part === "status") throw methodNotAllowed();
        return this.#delete(resource, current, request);
      case "POST":
        break;
    }
    throw methodNotAllowed();
  }

  #onCollection(request: ClusterRequest, route: Route, asOf: number | undefined): ClusterResponse {
    const { resource, namespace } = route;
    if (request.method === "GET") {
      return { status: 200, body: list(this.store, resource, namespace, request.query ?? {}, asOf) };
    }
    if (request.method !== "POST" || (resource.namespaced && namespace === undefined)) {
      throw methodNotAllowed();
    }
    return { status: 201, body: create(this.#create, resource, namespace, bodyOf(request)) };
  }

  #delete(resource: Resource, current: KubeObject, request: ClusterRequest): ClusterResponse {
    const deletion = remove(this.store, resource, current, request.body, this.#timestamp());
    if (deletion.kind === "marked") return { status: 200, body: deletion.object };
    const { name, uid } = current.metadata;
    const group = resource.group === "" ? {} : { group: resource.group };
    const details = { name, ...group, kind: resource.plural, uid };
    return { status: 200, body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details } };
  }

  #route(path: string): Route {
    const known = this.#routes.get(path);
    if (known !== undefined) return known;
    const route = parseRoute(path, (group, version, plural) =>
      this.#resources.find(
        (resource) => resource.group === group && resource.version === version && resource.plural === plural,
      ),
    );
    this.#routes.set(path, route);
    return route;
  }

  #timestamp(): string {
    return new Date(this.#clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
  }

  #uid(): string {
    const hex = (digits: number) =>
      Math.floor(this.#random() * 16 ** digits)
        .toString(16)
        .padStart(digits, "0");
    return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
  }
}

function methodNotAllowed(): Refusal {
  return new Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

function bodyOf(request: ClusterRequest): JsonObject {
  if (!isJsonObject(request.body)) throw refuse.bad("the request needs an object as its body");
  return request.body;
}

function patched(request: ClusterRequest, current: KubeObject): JsonObject {
  if (request.contentType !== "application/json-patch+json") {
    throw new Refusal(415, "UnsupportedMediaType", "the body of the request was in an unknown format");
  }
  return applyJsonPatch(current, request.body);
}
