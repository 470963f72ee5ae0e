import { createHash } from "node:crypto";
import type { Endpoint } from "../../api/endpoint.ts";
import type { Failure } from "../client/answer.ts";
import type { ServiceClient } from "../client/client.ts";
import type { ClusterClient } from "../cluster/client.ts";
import { isAlreadyExists, isRefusal } from "../cluster/errors.ts";
import { guardedPatch } from "../cluster/json-patch.ts";
import { isObjectOf } from "../cluster/objects.ts";
import { type Secret, secretKind } from "../connection/resolve.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import { API_VERSION, CONNECTION_SECRET_TYPE, GROUP, labels, OPERATOR_NAME } from "../resources/names.ts";
import { meaningOf } from "./act/failures.ts";
import { freshLookAsked } from "./observe/view.ts";
import type { Reason } from "./reasons.ts";
import { poolerHost } from "./status.ts";

/** Of a connection Secret: what it was made from, and a digest of what was written, to notice both changes. */
const builtFrom = `${GROUP}/built-from`;
const digestOfData = `${GROUP}/data-sha256`;

const port = "5432";

export interface SecretTools {
  cluster: ClusterClient;
  client: ServiceClient;
  signal: AbortSignal;
  /** Whether the service may be asked now; else whoever asks is woken. */
  affordable: () => boolean;
  /** Our connection Secrets as the watch has delivered them. */
  ours: (namespace: string) => readonly Secret[];
}

/** What became of the connection Secret. */
export type Binding =
  | { kind: "none" }
  | { kind: "bound"; name: string }
  /** What it is made from is asked of the service when the budget allows. */
  | { kind: "later" }
  | { kind: "failed"; reason: Reason; message: string };

/** Keeps the Secret that `spec.connectionSecret` names: made, repaired, moved to a new host; others of ours removed. */
export async function keepConnectionSecret(compute: Compute, endpoint: Endpoint, tools: SecretTools): Promise<Binding> {
  try {
    return await keep(compute, endpoint, tools);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (error.status === 403) {
      const message = `The operator may not write Secrets in namespace "${compute.metadata.namespace ?? ""}" (spec.connectionSecret): bind its Role for Secrets there.`;
      return { kind: "failed", reason: "Forbidden", message };
    }
    const message = `The API server refuses what Secret "${compute.spec.connectionSecret?.name ?? ""}" is to hold: ${error.message}. If it exists, delete it: it is made anew.`;
    return { kind: "failed", reason: "Rejected", message };
  }
}

async function keep(compute: Compute, endpoint: Endpoint, tools: SecretTools): Promise<Binding> {
  const { namespace = "", uid } = compute.metadata;
  const wanted = compute.spec.connectionSecret;
  const mine = tools.ours(namespace).filter((secret) => isOwnedBy(secret, uid));
  const binding = wanted === undefined ? none : await keepNamed(compute, wanted, endpoint, mine, tools);
  // Not before the one that takes their place is there.
  if (wanted !== undefined && binding.kind !== "bound") return binding;
  for (const { metadata } of mine) {
    if (metadata.name !== wanted?.name) await tools.cluster.delete(secretKind, metadata, { uid: metadata.uid });
  }
  return binding;
}

const none: Binding = { kind: "none" };

async function keepNamed(
  compute: Compute,
  wanted: NonNullable<Compute["spec"]["connectionSecret"]>,
  endpoint: Endpoint,
  mine: readonly Secret[],
  tools: SecretTools,
): Promise<Binding> {
  if (endpoint.host === undefined) return none;
  const existing = mine.find(({ metadata }) => metadata.name === wanted.name);
  // The branch too: a role may have another password on each.
  const { id, host, branch_id } = endpoint;
  const source = JSON.stringify([id, host, branch_id, wanted.database, wanted.role]);
  if (existing !== undefined && isIntact(existing, source) && !freshLookAsked(compute)) {
    return { kind: "bound", name: wanted.name };
  }
  if (wanted.database !== undefined && !tools.affordable()) return { kind: "later" };
  const data = await dataFor(compute, endpoint, tools);
  if ("failure" in data) return failedBinding(data.failure, wanted.name);
  return existing === undefined
    ? create(compute, wanted.name, source, data.data, tools.cluster)
    : repair(existing, source, data.data, tools.cluster);
}

async function dataFor(
  compute: Compute,
  endpoint: Endpoint,
  { client, signal }: SecretTools,
): Promise<{ data: Record<string, string> } | { failure: Failure }> {
  const { connectionSecret, projectID } = compute.spec;
  const { database, role } = connectionSecret ?? {};
  const pooledHost = poolerHost(endpoint);
  const data: Record<string, string> = {
    type: "postgresql",
    host: endpoint.host ?? "",
    ...(pooledHost === undefined ? {} : { "pooled-host": pooledHost }),
    port,
    "endpoint-id": endpoint.id,
  };
  if (database === undefined || role === undefined) return { data };
  const query = { database_name: database, role_name: role, endpoint_id: endpoint.id };
  const direct = await client.connectionURI(projectID, { ...query, pooled: "false" }, signal);
  if (direct.kind !== "ok") return { failure: direct };
  const pooled = await client.connectionURI(projectID, { ...query, pooled: "true" }, signal);
  if (pooled.kind !== "ok") return { failure: pooled };
  if (!URL.canParse(direct.value))
    return { failure: { kind: "unavailable", message: "a connection URI that cannot be read" } };
  const { username, password } = new URL(direct.value);
  return {
    data: {
      ...data,
      username: decoded(username),
      password: decoded(password),
      database,
      uri: direct.value,
      "pooled-uri": pooled.value,
    },
  };
}

/** As a client would read it: what is no percent-encoding stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function create(
  { metadata }: Compute,
  name: string,
  source: string,
  data: Record<string, string>,
  cluster: ClusterClient,
): Promise<Binding> {
  const owner = { apiVersion: API_VERSION, kind: computeKind.kind, name: metadata.name, uid: metadata.uid };
  try {
    await cluster.create(secretKind, {
      apiVersion: "v1",
      kind: "Secret",
      type: CONNECTION_SECRET_TYPE,
      metadata: {
        name,
        namespace: metadata.namespace,
        labels: { [labels.compute]: metadata.uid, "app.kubernetes.io/managed-by": OPERATOR_NAME },
        annotations: { [builtFrom]: source, [digestOfData]: digest(encoded(data)) },
        ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: false }],
      },
      data: encoded(data),
    });
    return { kind: "bound", name };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    if (await isOurs(name, metadata, cluster)) return { kind: "bound", name };
    const message = `Secret "${name}" exists and is not this Compute's: it is never written over. Delete it, or name another in spec.connectionSecret.`;
    return { kind: "failed", reason: "Conflict", message };
  }
}

/** The watch may not have delivered yet what an earlier pass made. */
async function isOurs(name: string, { namespace, uid }: Compute["metadata"], cluster: ClusterClient): Promise<boolean> {
  const { items } = await cluster.listPage(secretKind, { namespace, labelSelector: `${labels.compute}=${uid}` });
  return items.some((item) => isObjectOf(secretKind, item) && item.metadata.name === name && isOwnedBy(item, uid));
}

async function repair(
  secret: Secret,
  source: string,
  data: Record<string, string>,
  cluster: ClusterClient,
): Promise<Binding> {
  const patch = guardedPatch(secret, { resourceVersion: true })
    .setAnnotation(builtFrom, source)
    .setAnnotation(digestOfData, digest(encoded(data)))
    .set(["data"], encoded(data));
  await cluster.patch(secretKind, secret.metadata, patch.ops());
  return { kind: "bound", name: secret.metadata.name };
}

/** Whether the Secret that a Compute names stands, as it was last made. */
export function stands({ metadata, spec }: Compute, ours: SecretTools["ours"]): boolean {
  const named = ours(metadata.namespace ?? "").filter((secret) => secret.metadata.name === spec.connectionSecret?.name);
  return named.some((secret) => isOwnedBy(secret, metadata.uid));
}

/** Ours by label and by owner, both. */
function isOwnedBy({ metadata, type }: Secret, uid: string): boolean {
  const labelled = metadata.labels?.[labels.compute] === uid;
  return (
    labelled && type === CONNECTION_SECRET_TYPE && metadata.ownerReferences?.some((owner) => owner.uid === uid) === true
  );
}

function isIntact({ metadata, data }: Secret, source: string): boolean {
  const { annotations } = metadata;
  return annotations?.[builtFrom] === source && annotations[digestOfData] === digest(data ?? {});
}

function digest(data: Record<string, string>): string {
  const members = Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(members)).digest("hex");
}

function encoded(data: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString("base64")]));
}

function failedBinding(failure: Failure, name: string): Binding {
  const doing = `tell the connection details for Secret "${name}"`;
  if (failure.kind === "notFound") {
    // What is not found here is the database or the role, or the very call, which not every service has.
    const message = `The service could not ${doing}: ${failure.message}. Check database and role in spec.connectionSecret, or leave both out: it then holds host and port alone.`;
    return { kind: "failed", reason: "Rejected", message };
  }
  return { kind: "failed", ...meaningOf(failure, doing) };
}
