import { DeletionBrake } from "../../src/operator/project/deletion-brake.ts";
import { EndpointLister } from "../../src/operator/project/endpoint-lister.ts";
import type { Brake } from "../../src/operator/project/gate.ts";
import { accessTo, type ListerAccess } from "../../src/operator/project/service-access.ts";
import type { ServiceResponse } from "../../src/operator/service-client/transport.ts";
import { clientOf, refusal, ScriptedService } from "../support/scripted-service.ts";
import { installCRDs } from "../support/shipped-crd.ts";
import { silentLogger } from "../support/silent-logger.ts";
import { MemoryCluster } from "./kube/memory-cluster.ts";

export interface EffectsOptions {
  /** Kinds whose CRD is installed. */
  kinds?: string[];
  /** How the client of the service differs from the usual one. */
  client?: Parameters<typeof clientOf>[2];
  brake?: Brake;
}

/** An API server in memory, a service with scripted answers, and a log of the effects on both in their order. */
export class Effects {
  readonly cluster = new MemoryCluster();
  readonly clock = this.cluster.clock;
  readonly effects: string[] = [];
  readonly service = new ScriptedService();
  readonly access: ListerAccess;
  /** Uids that the project's lister enqueued. */
  readonly enqueued: string[] = [];
  /** Whether what is about to be sent is no longer wanted. */
  withdrawn = false;
  answer: (what: string, body: unknown) => ServiceResponse | Promise<ServiceResponse> = () => refusal(500);
  readonly #lister: EndpointLister;
  readonly #brake: Brake;

  constructor({ kinds, client, brake = new DeletionBrake(this.clock, 1000) }: EffectsOptions = {}) {
    installCRDs(this.cluster.server, kinds);
    this.cluster.fate = ({ method, path }) => {
      if (method !== "GET") this.effects.push(`${method} ${path.split("/").slice(6).join("/")}`);
      return undefined;
    };
    this.service.script = ({ method, path, body }) => {
      const what = `${method} ${path.replace("/projects/shiny-wind-028834", "service")}`;
      this.effects.push(what);
      return this.answer(what, body);
    };
    this.#brake = brake;
    this.#lister = new EndpointLister({
      log: silentLogger,
      client: clientOf(this.service, this.clock, client),
      projectID: "shiny-wind-028834",
      clock: this.clock,
      refreshIntervalMs: () => 30_000,
      enqueue: (uids) => this.enqueued.push(...uids),
      signal: new AbortController().signal,
    });
    this.access = this.accessOf("this one");
  }

  /** The way of one reconcile to the service. */
  accessOf(uid: string): ListerAccess {
    const self = {
      metadata: { uid, name: uid, namespace: "default", resourceVersion: "" },
      spec: { projectID: "shiny-wind-028834" },
    };
    return accessTo(this.#lister, self, this.#brake, { withdrawn: () => this.withdrawn });
  }
}
