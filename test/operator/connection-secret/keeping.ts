import { ConnectionSecrets } from "../../../src/operator/connection-secret/connection-secret.ts";
import { type KeptSecret, keptConnectionSecret } from "../../../src/operator/connection-secret/kept-secret.ts";
import type { SecretCache } from "../../../src/operator/connection-secret/secret-cache.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import type { Secret } from "../../../src/operator/resources/secret.ts";
import { compute, endpoint } from "../../support/builders.ts";
import { clientOf, json, ScriptedService } from "../../support/scripted-service.ts";
import { secretCache } from "../../support/secret-cache.ts";
import { MemoryCluster } from "../kube/memory-cluster.ts";

export const secrets = "/api/v1/namespaces/default/secrets";
export const host = "ep-one.aws.example.com";
export const withDatabase = { connectionSecret: { name: "shop-db", database: "shop", role: "app" } };

/** An API server with connection Secrets in memory, and a service that answers with a URI. */
export function setUp(more: Partial<SecretCache> = {}) {
  const cluster = new MemoryCluster();
  const service = new ScriptedService(({ query }) => {
    const at = query?.pooled === "true" ? "ep-one-pooler" : "ep-one";
    return json(200, { uri: `postgresql://app:p%40ss@${at}.aws.example.com/shop?sslmode=require` });
  });
  const delivered = () =>
    stored()
      .filter(({ metadata }) => metadata.labels !== undefined)
      .map(keptConnectionSecret);
  /** `lagging`: the watch has not delivered anything yet; `ours`: what it has delivered. */
  const state: { lagging: boolean; affordable: boolean; wasRejected: boolean; ours: () => KeptSecret[] | undefined } = {
    lagging: false,
    affordable: true,
    wasRejected: false,
    ours: delivered,
  };
  const stored = (): Secret[] => {
    const { body } = cluster.server.handle({ method: "GET", path: secrets });
    return itemsOf(body);
  };
  const client = cluster.client();
  const kept = new ConnectionSecrets({
    cluster: client,
    clock: cluster.clock,
    signal: new AbortController().signal,
    cache: secretCache(() => (state.lagging ? [] : state.ours()), more),
  });
  const keep = (self: Compute, seen = endpoint({ host })) =>
    kept.keep(self, seen, {
      client: clientOf(service, cluster.clock),
      affordable: () => state.affordable,
      wasRejected: state.wasRejected,
      requested: self.metadata.annotations?.["compute-operator.dev/reconcileRequestedAt"] !== undefined,
    });
  /** When the Secret is read again, for a reconcile that begins now. */
  const dueAt = () => kept.readingDueAt(self.metadata.uid, cluster.clock.monotonic());
  const read = (name = "shop-db") => {
    const data = stored().find(({ metadata }) => metadata.name === name)?.data;
    return (
      data &&
      Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]))
    );
  };
  const writes = () => cluster.requests.filter(({ method }) => method !== "GET").map(({ method }) => method);
  const change = (body: unknown) =>
    cluster.server.handle({
      method: "PATCH",
      path: `${secrets}/shop-db`,
      body,
      contentType: "application/json-patch+json",
    });
  const ownedByOther = (metadata: object) =>
    cluster.server.handle({
      method: "POST",
      path: secrets,
      body: { metadata: { name: "shop-db", ...metadata }, data: { own: "eA==" } },
    });
  return { cluster, client, service, state, kept, keep, dueAt, read, stored, writes, change, ownedByOther };
}

function itemsOf(body: unknown): Secret[] {
  return typeof body === "object" && body !== null && "items" in body && Array.isArray(body.items) ? body.items : [];
}

export const self = compute({ namespace: "default", spec: withDatabase });
export const bound = { kind: "bound", name: "shop-db" };
