import { z } from "zod";
import { Endpoint } from "../../../src/api/endpoint.ts";
import { SessionRegistry } from "../../../src/operator/connection/registry.ts";
import type { Session } from "../../../src/operator/connection/session.ts";
import type { EventInput } from "../../../src/operator/kube/event-record.ts";
import { type Compute } from "../../../src/operator/resources/compute.ts";
import type { Reconciled } from "../../../src/operator/runtime/workqueue.ts";
import { Budgets } from "../../../src/operator/service-client/budgets.ts";
import type { ServiceRequest, ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { apiKeySecret, connection, withoutCluster } from "../../support/connections.ts";
import { json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { installCRDs } from "../../support/shipped-crd.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { MemoryCluster } from "../kube/memory-cluster.ts";
import { type StoredFields, storedComputes } from "../stored-objects.ts";

const project = "/projects/shiny-wind-028834";

/**
 * A connection to a service whose project has these endpoints, an API server in memory, and a queue: what is enqueued
 * is reconciled at once, and again when the reconcile asks for it.
 */
export class Reaching {
  readonly cluster = new MemoryCluster();
  readonly clock = this.cluster.clock;
  readonly #computes = storedComputes(this.cluster);
  readonly endpoints = new Map<string, Endpoint>();
  readonly service = new ScriptedService((request) => this.#answer(request));
  /** What the service answers instead of what it has. */
  answer: (request: ServiceRequest) => ServiceResponse | Promise<ServiceResponse> | undefined = () => undefined;
  readonly #secrets = [apiKeySecret()];
  /** What the cache has; a test takes them out or adds some. */
  connections = [connection()];
  readonly registry: SessionRegistry;
  /** Events, as `Warning Deleted: message`. */
  readonly reported: string[] = [];
  /** When the reconciles ended, and what they asked for. */
  readonly delays: (number | undefined)[] = [];
  reconcile: (uid: string) => Promise<Reconciled> = () => Promise.resolve({});
  /** How many reconciles wait for an answer of the service or of the API server. */
  inProgress = 0;
  readonly #running = new Set<string>();
  readonly #again = new Set<string>();

  constructor(limits: { perMinute?: number; burst?: number } = {}) {
    installCRDs(this.cluster.server);
    if (limits.perMinute !== undefined) this.connections = [connection({ spec: { requestBudget: limits } })];
    this.registry = new SessionRegistry({
      log: silentLogger,
      cache: {
        connection: (_, name) => this.connections.find(({ metadata }) => metadata.name === name),
        secret: (_, name) => this.#secrets.find(({ metadata }) => metadata.name === name),
        ...withoutCluster,
      },
      allowedBaseURLs: ["https://service.example.com/api/v2"],
      budgetShare: 1,
      transport: this.service,
      budgets: new Budgets(this.clock),
      namesShownBy: new Set<string>(),
      clock: this.clock,
      beforeWrite: () => {},
      signal: new AbortController().signal,
      enqueue: (uids) => {
        for (const uid of uids) this.enqueue(uid);
      },
      enqueueConnections: () => {},
    });
  }

  /** Joins a connection with what its Secret holds, and lets the service take the key. */
  async join(one = this.connections[0] ?? connection()): Promise<Session> {
    const resolved = this.registry.resolved(one);
    if (resolved.kind !== "account") throw new Error(resolved.message);
    const session = this.registry.join(one, resolved.account);
    session.probe();
    await this.clock.settle();
    return session;
  }

  /** Another key lies in the Secret that the connections name. */
  rotate(key: string): void {
    this.#secrets[0] = apiKeySecret({ key });
  }

  /** Creates a Compute at the API server, which gives it uid and generation. */
  stored(fields: StoredFields = {}): Compute {
    return this.#computes.create(fields);
  }

  /** The Computes as the API server has them now. */
  computes(): Compute[] {
    return this.#computes.all();
  }

  /** Somebody's JSON Patch of the Compute. */
  write(body: unknown, subresource = ""): void {
    this.#computes.write(body, subresource);
  }

  /** Takes the Compute away at the API server, with no finalizer that would hold it. */
  removeStored(): void {
    this.#computes.drop();
  }

  enqueue(uid: string): void {
    if (this.#running.has(uid)) {
      this.#again.add(uid);
      return;
    }
    this.#running.add(uid);
    this.clock.after(0, () => void this.#run(uid));
  }

  readonly event = (_: Compute, { type, reason, message }: EventInput): void => {
    this.reported.push(`${type} ${reason}: ${message}`);
  };

  /** The requests about the project since the last call, without its path; lists as `list`. */
  sent(): string[] {
    const requests = this.service.requests.splice(0).filter(({ path }) => path.startsWith(project));
    return requests.map(({ method, path }) => {
      const rest = path.slice(project.length + 1);
      return method === "GET" && rest === "endpoints" ? "list" : `${method} ${rest.replace("endpoints/", "")}`;
    });
  }

  async #run(uid: string): Promise<void> {
    this.inProgress += 1;
    const { requeueAfterMs: delay } = await this.reconcile(uid);
    this.inProgress -= 1;
    this.delays.push(delay);
    this.#running.delete(uid);
    if (this.#again.delete(uid)) this.enqueue(uid);
    if (delay !== undefined) this.clock.after(delay, () => this.enqueue(uid));
  }

  #answer(request: ServiceRequest): ServiceResponse | Promise<ServiceResponse> {
    const { method, path } = request;
    const special = this.answer(request);
    if (special !== undefined) return special;
    if (path === "/auth") return json(200, { account_id: "acc", auth_method: "api_key_user" });
    if (path === "/projects") return json(200, { projects: [{ id: "shiny-wind-028834" }] });
    const [, id] = path.slice(project.length + 1).split("/");
    if (method === "POST" && id === undefined) return this.#make(request);
    if (id === undefined) return json(200, { endpoints: [...this.endpoints.values()] });
    const endpoint = this.endpoints.get(id);
    if (endpoint === undefined) return refusal(404);
    if (method === "DELETE") this.endpoints.delete(id);
    return json(200, { endpoint });
  }

  #make({ body }: ServiceRequest): ServiceResponse {
    const { endpoint: asked } = z.object({ endpoint: z.looseObject({}) }).parse(body);
    const id = `ep-${this.endpoints.size + 1}`;
    const endpoint = Endpoint.parse({ id, current_state: "active", created_at: "2026-01-01T00:00:00Z", ...asked });
    this.endpoints.set(id, endpoint);
    return json(201, { endpoint, operations: [] });
  }
}
