import { conditionOf } from "../../../src/operator/objects/conditions-of.ts";
import type { OperatorSettings } from "../../../src/operator/operator.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { Refusal } from "../../simulation/api-server/refusal.ts";
import type { ApiServer } from "../../simulation/api-server/server.ts";
import type { ApiFront } from "../../simulation/api-server/transport.ts";
import { seededRandom } from "../../simulation/random.ts";
import { group, type InMemoryClusterOptions, InMemorySystem, untilSo } from "../../support/in-memory-system.ts";
import { isReady } from "../../support/is-ready.ts";
import { shippedKinds } from "../../support/shipped-crd.ts";
import { goodKey, project, type SeededService } from "./seeded-service.ts";

export interface ClusterWorldOptions extends Pick<InMemoryClusterOptions, "rights" | "weather"> {
  branches?: readonly string[];
  projects?: SeededService["projects"];
  /** Ids of read replicas that the service has from the start. */
  replicas?: readonly string[];
  settings?: Partial<OperatorSettings>;
  /** Of the account at the service. */
  plan?: SeededService["plan"];
  /** How the service behaves. */
  service?: SeededService["service"];
  /** Kinds whose CRD is not installed. */
  without?: readonly string[];
  /** Of the ClusterServiceConnection's spec. */
  connection?: Record<string, unknown>;
}

/** Namespace of the operator, and of the Secrets of ClusterServiceConnections. */
export const ownNamespace = "compute-operator-system";

/** Several namespaces and one ClusterServiceConnection `fleet` to one service, on a driven clock. */
export class ClusterWorld extends InMemorySystem {
  constructor({
    branches = [],
    projects = [],
    replicas = [],
    plan,
    service = {},
    without = [],
    connection,
    settings,
    ...options
  }: ClusterWorldOptions = {}) {
    super({
      ...options,
      random: seededRandom(7),
      definitions: shippedKinds.filter((one) => !without.includes(one)),
      controllerManager: true,
      settings: { clusterResourceNamespace: ownNamespace, ...settings },
      service: {
        branches,
        projects,
        endpoints: replicas.map((id) => ({ id, branchID: "br-main", type: "read_only" })),
        service,
        ...(plan !== undefined && { plan }),
      },
    });
    this.namespace(ownNamespace);
    this.key();
    if (!without.includes("clusterserviceconnections")) this.connect(connection);
    this.start();
  }

  /** A Secret with a key, that of the connection unless another is named. */
  key(key = goodKey, name = "fleet-key"): void {
    this.send("POST", `/api/v1/namespaces/${ownNamespace}/secrets`, {
      metadata: { name },
      type: "compute-operator.dev/api-key",
      data: { "api-key": Buffer.from(key).toString("base64") },
    });
  }

  connect(spec: Record<string, unknown> = {}, name = "fleet"): void {
    this.send("POST", `${group}/clusterserviceconnections`, {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ClusterServiceConnection",
      metadata: { name },
      spec: {
        baseURL: "http://service.test/api/v2",
        apiKeySecretRef: { name: "fleet-key" },
        requestBudget: { perMinute: 100_000, burst: 1000 },
        namespaceSelector: { matchLabels: { fleet: "yes" } },
        allowedProjects: [project],
        ...spec,
      },
    });
  }

  namespace(name: string, labels: Record<string, string> = {}): void {
    this.send("POST", "/api/v1/namespaces", { metadata: { name, labels } });
  }

  /** Gives the namespace these labels and no others. */
  label(name: string, labels: Record<string, string>): void {
    const path = `/api/v1/namespaces/${name}`;
    const found = this.send("GET", path);
    this.send("PUT", path, { ...found, metadata: { ...found.metadata, labels } });
  }

  declare(namespace: string, name: string, spec: Record<string, unknown> = {}): void {
    this.send("POST", `${group}/namespaces/${namespace}/computes`, {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "Compute",
      metadata: { name },
      spec: {
        projectID: project,
        branchID: "br-main",
        connectionRef: { kind: "ClusterServiceConnection", name: "fleet" },
        ...spec,
      },
    });
  }

  edit(namespace: string, name: string, spec: Record<string, unknown>): void {
    const path = `${group}/namespaces/${namespace}/computes/${name}`;
    const found = this.send("GET", path);
    this.send("PUT", path, { ...found, spec: { ...found.spec, ...spec } });
  }

  /** Sets an annotation of ours. */
  setAnnotation(namespace: string, name: string, annotation: string, value: string): void {
    const path = `${group}/namespaces/${namespace}/computes/${name}`;
    const found = this.send("GET", path);
    const annotations = { ...found.metadata.annotations, [`compute-operator.dev/${annotation}`]: value };
    this.send("PUT", path, { ...found, metadata: { ...found.metadata, annotations } });
  }

  remove(namespace: string, name: string): void {
    this.send("DELETE", `${group}/namespaces/${namespace}/computes/${name}`);
  }

  compute(namespace: string, name: string): Compute {
    return this.computeOf(namespace, name);
  }

  isGone(namespace: string, name: string): boolean {
    return this.find(`${group}/namespaces/${namespace}/computes/${name}`) === undefined;
  }

  connection(name = "fleet") {
    return this.find(`${group}/clusterserviceconnections/${name}`);
  }

  /** Reason and message of its condition Ready. */
  said(namespace: string, name: string): string {
    const { reason, message } = conditionOf(this.compute(namespace, name).status, "Ready") ?? {
      reason: "none",
      message: "",
    };
    return `${reason}: ${message}`;
  }

  /** Reason and message of the connection's condition Ready. */
  connectionSaid(name = "fleet"): string {
    const conditions: { type: string; reason: string; message: string }[] =
      this.connection(name)?.status?.conditions ?? [];
    const ready = conditions.filter(({ type }) => type === "Ready");
    return ready.map(({ reason, message }) => `${reason}: ${message}`).join();
  }

  async ready(namespace: string, name: string): Promise<void> {
    await this.until(`${namespace}/${name} ready`, () => isReady(this.compute(namespace, name)));
  }

  /** Lets time pass until it is so, ten minutes at most. */
  until(what: string, isSo: () => boolean): Promise<void> {
    return untilSo(this.clock, what, isSo);
  }
}

/** What the connection `fleet` selects. */
export const selected = { fleet: "yes" };

/** The rights of the overlay cluster-connections-only: to Secrets of the operator's own namespace alone. */
export function secretsOfOwnNamespace(server: ApiServer): ApiFront {
  const refused = (path: string) =>
    /\/secrets(\/|$)/.test(path) && !path.includes(`/namespaces/${ownNamespace}/`)
      ? new Refusal(403, "Forbidden", "the operator has no right to this").toResponse()
      : undefined;
  return {
    store: server.store,
    handle: (request, asOf) => refused(request.path) ?? server.handle(request, asOf),
    watch: (path, query, sink) => refused(path) ?? server.watch(path, query, sink),
  };
}

/** A world with the namespace `shop`, which the connection selects, and a Compute `db` there that is ready. */
export async function worldOfShop(options: ClusterWorldOptions = {}): Promise<ClusterWorld> {
  const world = new ClusterWorld(options);
  world.namespace("shop", selected);
  world.declare("shop", "db");
  await world.ready("shop", "db");
  return world;
}
