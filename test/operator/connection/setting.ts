import { ConnectionReconciler } from "../../../src/operator/connection/reconciler.ts";
import { SessionRegistry } from "../../../src/operator/connection/registry.ts";
import { crdIsGoing } from "../../../src/operator/manager/uninstalling.ts";
import type { KubeObject } from "../../../src/operator/objects/object.ts";
import { parseCompute } from "../../../src/operator/resources/compute.ts";
import type { Secret } from "../../../src/operator/resources/secret.ts";
import { parseServiceConnection, type ServiceConnection } from "../../../src/operator/resources/service-connection.ts";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import { Budgets } from "../../../src/operator/service-client/budgets.ts";
import { compute } from "../../support/builders.ts";
import { withoutCluster } from "../../support/connections.ts";
import { json, ScriptedService } from "../../support/scripted-service.ts";
import { installCRDs } from "../../support/shipped-crd.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { MemoryCluster } from "../kube/memory-cluster.ts";

export const ours = "/apis/compute-operator.dev/v1alpha1/namespaces/default";
export const secrets = "/api/v1/namespaces/default/secrets";
const apiVersion = "compute-operator.dev/v1alpha1";

/** A connection, its Secret and a Compute on an API server in memory; the cache is what the server has. */
export function setUp(more: Record<string, unknown> = {}) {
  const cluster = new MemoryCluster();
  const { server, clock } = cluster;
  installCRDs(server);
  const post = (path: string, body: object) => server.handle({ method: "POST", path, body });
  const remove = (path: string) => server.handle({ method: "DELETE", path });
  post(secrets, { metadata: { name: "service" }, type: "compute-operator.dev/api-key", data: { "api-key": "a2V5" } });
  const spec = { baseURL: "https://service.example.com/api/v2", apiKeySecretRef: { name: "service" }, ...more };
  post(`${ours}/serviceconnections`, { apiVersion, kind: "ServiceConnection", metadata: { name: "default" }, spec });
  const items = (path: string): unknown[] => {
    const { body } = server.handle({ method: "GET", path });
    return typeof body === "object" && body !== null && "items" in body && Array.isArray(body.items) ? body.items : [];
  };
  const read = <T>(
    path: string,
    parse: (raw: unknown) => { ok: true; value: T } | { ok: false; problem: string },
  ): T[] =>
    items(path).flatMap((raw) => {
      const parsed = parse(raw);
      return parsed.ok ? [parsed.value] : [];
    });
  const isSecret = (raw: unknown): raw is Secret => typeof raw === "object" && raw !== null && "metadata" in raw;
  const stored = () => items(secrets).filter(isSecret);
  const connectionsNow = () => read(`${ours}/serviceconnections`, parseServiceConnection);
  const computesNow = () => read(`${ours}/computes`, parseCompute);
  const service = new ScriptedService(({ path }) =>
    path === "/auth"
      ? json(200, { account_id: "acc", auth_method: "api_key_user" })
      : json(200, { projects: [{ id: "shop", name: "shop" }, { id: "aaa" }] }),
  );
  const connections = new SessionRegistry({
    log: silentLogger,
    cache: {
      connection: (_, name) => connectionsNow().find(({ metadata }) => metadata.name === name),
      secret: (_, name) => stored().find(({ metadata }) => metadata.name === name),
      ...withoutCluster,
    },
    allowedBaseURLs: ["https://service.example.com/api/v2"],
    budgetShare: 1,
    transport: service,
    budgets: new Budgets(clock),
    namesShownBy: new Set<string>(),
    clock,
    beforeWrite: () => {},
    signal: new AbortController().signal,
    enqueue: () => {},
    enqueueConnections: () => {},
  });
  /** What the cache still shows, but for answers to our own writes; what the server has where it does not lag. */
  let old: { connections?: readonly ServiceConnection[]; secrets?: readonly Secret[] } = {};
  const answered = (object: KubeObject) => {
    const parsed = parseServiceConnection(object);
    if (old.connections === undefined || !parsed.ok) return;
    const others = old.connections.filter(({ metadata }) => metadata.uid !== object.metadata.uid);
    old = { ...old, connections: [...others, parsed.value] };
  };
  const usersRead = { count: 0 };
  const woken: string[] = [];
  const reported: string[] = [];
  const lines: string[] = [];
  const log = createLogger({ level: "info", destination: { write: (line) => void lines.push(line) }, clock });
  const started = () =>
    new ConnectionReconciler({
      cluster: cluster.client({ onAnswer: (_, object) => answered(object) }),
      clock,
      connections,
      cache: {
        connectionByUID: (uid) => (old.connections ?? connectionsNow()).find(({ metadata }) => metadata.uid === uid),
        connectionsOf: () => old.connections ?? connectionsNow(),
        secret: (_, name) => stored().find(({ metadata }) => metadata.name === name),
        secretsOf: () => old.secrets ?? stored(),
        isUser: () => true,
        *usersOf(_, name) {
          for (const user of old.connections === undefined ? computesNow() : []) {
            usersRead.count += 1;
            if (user.spec.connectionRef.name === name) yield user;
          }
        },
      },
      uninstalling: () => crdIsGoing(cluster.client()),
      enqueueUsers: (namespace, name) => woken.push(`${namespace}/${name}`),
      event: ({ kind }, { metadata }, { reason, message }) =>
        reported.push(`${kind} ${metadata.name} ${reason}: ${message}`),
      log,
    });
  let reconciler = started();
  const restart = () => {
    reconciler = started();
  };
  const uid = connectionsNow()[0]?.metadata.uid ?? "";
  const reconcile = async () => {
    for (let n = 0; n < 3; n += 1) {
      await reconciler.reconcile(uid);
      await clock.settle();
    }
  };
  const use = (name = "db", finalizers: string[] = [], ownerReferences: object[] = []) =>
    post(`${ours}/computes`, {
      apiVersion,
      kind: "Compute",
      metadata: { name, finalizers, ownerReferences },
      spec: { projectID: "shop", branchID: "br-main" },
    });
  const finalizersOf = () => ({
    connection: connectionsNow()[0]?.metadata.finalizers,
    secret: stored()[0]?.metadata.finalizers,
  });
  return {
    cluster,
    service,
    connections,
    /** The present one: it changes with a restart. */
    reconciler: () => reconciler,
    reconcile,
    use,
    restart,
    remove,
    woken,
    reported,
    lines,
    finalizersOf,
    usersRead,
    computesNow,
    lag: (shown: typeof old) => {
      old = shown;
    },
    status: () => connectionsNow()[0]?.status,
    stored,
    connectionsNow,
    view: () => connections.view(compute({ namespace: "default", spec: { projectID: "shop" } })),
    dropFinalizers: () => {
      const body = [{ op: "remove", path: "/metadata/finalizers" }];
      const path = `${ours}/serviceconnections/default`;
      server.handle({ method: "PATCH", path, body, contentType: "application/json-patch+json" });
    },
    setStatus: (status: object) => {
      const path = `${ours}/serviceconnections/default/status`;
      const body = [{ op: "add", path: "/status", value: status }];
      server.handle({ method: "PATCH", path, body, contentType: "application/json-patch+json" });
    },
  };
}
