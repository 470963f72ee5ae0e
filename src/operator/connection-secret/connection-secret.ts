import type { Endpoint } from "../../api/endpoint.ts";
import type { ClusterClient } from "../kube/client.ts";
import { isAlreadyExists, isRefusal } from "../kube/errors.ts";
import type { EventInput } from "../kube/event-record.ts";
import { guardedPatch } from "../kube/json-patch.ts";
import { isObjectOf } from "../kube/objects.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import { API_VERSION, CONNECTION_SECRET_TYPE, labels, OPERATOR_NAME } from "../resources/names.ts";
import { secretKind } from "../resources/secret.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Failure } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import { filledDetails, whyUnread } from "./filled-details.ts";
import { builtFrom, digest, digestOfData, isOwnedBy, type KeptSecret, templateOf } from "./kept-secret.ts";
import { secretConflict, secretForbidden, secretRejected, secretUpdated } from "./messages.ts";
import { Readings } from "./readings.ts";
import type { Template } from "./template.ts";

type Cluster = Pick<ClusterClient, "create" | "delete" | "listPage" | "patch">;

export interface ConnectionSecretOptions {
  cluster: Cluster;
  clock: Clock;
  signal: AbortSignal;
  /** Our connection Secrets of a namespace as the watch has delivered them; `undefined`: no right to read them. */
  ours: (namespace: string) => readonly KeptSecret[] | undefined;
}

/** The caller's occasion, and its way to the service. */
export interface Occasion {
  client: Pick<ServiceClient, "connectionURI">;
  /** True if the service may be asked now; else the caller comes back when it may. */
  affordable: () => boolean;
  /** True if a person asked for a fresh check. */
  requested: boolean;
  /** True if the Secret was refused before: that stands until the service gives details again. */
  refused: boolean;
}

/** Outcome for the connection Secret. */
export type Binding =
  | { kind: "none" }
  /** `event` if a Secret that stood was written again. */
  | { kind: "bound"; name: string; event?: EventInput | undefined }
  /** The service is asked for its data when the budget allows. */
  | { kind: "later" }
  /** The service did not give its data: `doing` is the purpose of the request. */
  | { kind: "unread"; failure: Failure; doing: string }
  | { kind: "failed"; reason: "Conflict" | "Forbidden" | "Rejected"; message: string };

type Wanted = NonNullable<Compute["spec"]["connectionSecret"]>;

/**
 * Keeps the Secret that `spec.connectionSecret` names: made, repaired, moved to a new host; others of ours removed.
 *
 * Expected flow: the caller keeps the Secret in each reconcile of a Compute that has an endpoint, comes back when a
 * reading is due, and forgets a Compute that is gone.
 * Guarantees: a Secret that is not ours is never written over. Of several, the old one goes after the new one stands.
 */
export class ConnectionSecrets {
  readonly #options: ConnectionSecretOptions;
  readonly #readings: Readings;

  constructor(options: ConnectionSecretOptions) {
    this.#options = options;
    this.#readings = new Readings(options.clock);
  }

  async keep(compute: Compute, endpoint: Endpoint, occasion: Occasion): Promise<Binding> {
    try {
      return await this.#keep(compute, endpoint, occasion);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (error.status === 403) {
        const message = secretForbidden.toWrite(compute.metadata.namespace ?? "");
        return { kind: "failed", reason: "Forbidden", message };
      }
      const message = secretRejected.byCluster(compute.spec.connectionSecret?.name ?? "", error.message);
      return { kind: "failed", reason: "Rejected", message };
    }
  }

  /** True if the Secret that a Compute names stands, as it was last made. */
  stands({ metadata, spec }: Compute): boolean {
    const all = this.#options.ours(metadata.namespace ?? "") ?? [];
    const named = all.filter((secret) => secret.metadata.name === spec.connectionSecret?.name);
    return named.some((secret) => isOwnedBy(secret, metadata.uid));
  }

  /** The Secrets of a Compute that it does not own any more, and that stay when it goes. */
  ownerless({ metadata: { namespace = "", uid } }: Compute): string[] {
    const labelled = (this.#options.ours(namespace) ?? []).filter(
      ({ metadata }) => metadata.labels?.[labels.compute] === uid,
    );
    return labelled.filter((secret) => !isOwnedBy(secret, uid)).map(({ metadata }) => metadata.name);
  }

  /** The time, after `since`, at which the service is asked again whether the Secret still holds. */
  readingDueAt(uid: string, since: number): number | undefined {
    return this.#readings.nextAt(uid, since);
  }

  forget(uid: string): void {
    this.#readings.stop(uid);
  }

  async #keep(compute: Compute, endpoint: Endpoint, occasion: Occasion): Promise<Binding> {
    const { cluster, ours: oursIn } = this.#options;
    const { namespace = "", uid } = compute.metadata;
    const wanted = compute.spec.connectionSecret;
    const ours = oursIn(namespace);
    if (ours === undefined) {
      return wanted === undefined ? none : { kind: "failed", reason: "Forbidden", message: secretForbidden.toRead };
    }
    const mine = ours.filter((secret) => isOwnedBy(secret, uid));
    const binding = wanted === undefined ? none : await this.#keepNamed(compute, wanted, endpoint, mine, occasion);
    // Not before the one that takes their place is there.
    if (wanted !== undefined && binding.kind !== "bound") return binding;
    for (const { metadata } of mine) {
      if (metadata.name !== wanted?.name) await cluster.delete(secretKind, metadata, { uid: metadata.uid });
    }
    return binding;
  }

  async #keepNamed(
    compute: Compute,
    wanted: Wanted,
    endpoint: Endpoint,
    mine: readonly KeptSecret[],
    { client, affordable, refused, requested }: Occasion,
  ): Promise<Binding> {
    const { cluster, signal } = this.#options;
    const readings = this.#readings;
    const { uid } = compute.metadata;
    if (wanted.database === undefined) readings.stop(uid);
    if (endpoint.host === undefined) return none;
    const existing = mine.find(({ metadata }) => metadata.name === wanted.name);
    // The branch too: a role may have another password on each.
    const { id, host, branch_id } = endpoint;
    const { database, role, template = {} } = wanted;
    const more = wanted.template === undefined ? [] : [template];
    const source = JSON.stringify([id, host, branch_id, database, role, ...more]);
    const intact = existing !== undefined && isIntact(existing, source, template);
    const bound: Binding = { kind: "bound", name: wanted.name };
    if (intact && wanted.database === undefined) return bound;
    const due = wanted.database !== undefined && readings.isDue(uid);
    if (intact && !due && !requested && !refused) return bound;
    // A mere check keeps the Secret as it stands where the service cannot be asked.
    const unread: Binding = intact && !requested && !refused ? bound : { kind: "later" };
    if (wanted.database !== undefined && !affordable()) {
      if (due) readings.failed(uid);
      return unread;
    }
    const details = await filledDetails(compute, endpoint, intact ? uriIn(existing) : undefined, client, signal);
    if (details.kind === "failed") {
      readings.failed(uid);
      const isUnknown = details.failure.kind === "notFound";
      return isUnknown || requested || !intact ? whyUnread(details.failure, wanted, branch_id) : unread;
    }
    // Other readings leave the hour as it is: it is what spreads a fleet.
    if (due) readings.succeeded(uid);
    if (details.kind === "same") return bound;
    if (details.kind === "rejected") return { kind: "failed", reason: "Rejected", message: details.message };
    const content = { source, template, data: encoded(details.data) };
    if (existing === undefined) return create(compute, wanted.name, content, cluster);
    if (intact && isDigestOf(existing, content.data)) return bound;
    return repair(existing, content, rewritten(existing, source, intact, role), cluster);
  }
}

const none: Binding = { kind: "none" };

/** Content of a Secret. */
interface Content {
  /** The source of its data. */
  source: string;
  template: Template;
  /** In base64. */
  data: Record<string, string>;
}

/** Event for a Secret that is written again, where somebody should know; following its endpoint is no news. */
function rewritten(
  secret: KeptSecret,
  source: string,
  intact: boolean,
  role: string | undefined,
): EventInput | undefined {
  const { name, annotations } = secret.metadata;
  if (intact) {
    return { type: "Normal", reason: "SecretUpdated", message: secretUpdated.password(role ?? "", name) };
  }
  if (annotations?.[builtFrom] !== source) return undefined;
  return { type: "Warning", reason: "SecretUpdated", message: secretUpdated.changed(name) };
}

function uriIn({ data }: KeptSecret): string | undefined {
  const encodedURI = data?.["uri"];
  return encodedURI === undefined ? undefined : Buffer.from(encodedURI, "base64").toString();
}

async function create(
  { metadata, status }: Compute,
  name: string,
  content: Content,
  cluster: Cluster,
): Promise<Binding> {
  const { labels: more, annotations } = metadataOf(content);
  const owner = { apiVersion: API_VERSION, kind: computeKind.kind, name: metadata.name, uid: metadata.uid };
  try {
    await cluster.create(secretKind, {
      apiVersion: "v1",
      kind: "Secret",
      type: CONNECTION_SECRET_TYPE,
      metadata: {
        name,
        namespace: metadata.namespace,
        labels: { ...more, [labels.compute]: metadata.uid, "app.kubernetes.io/managed-by": OPERATOR_NAME },
        annotations,
        ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: false }],
      },
      data: content.data,
    });
    if (status.binding?.name !== name) return { kind: "bound", name };
    const event = { type: "Warning", reason: "SecretUpdated", message: secretUpdated.recreated(name) } as const;
    return { kind: "bound", name, event };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    if (await isOurs(name, metadata, cluster)) return { kind: "bound", name };
    return { kind: "failed", reason: "Conflict", message: secretConflict(name) };
  }
}

/** The watch may not have delivered yet what an earlier reconcile made. */
async function isOurs(name: string, { namespace, uid }: Compute["metadata"], cluster: Cluster): Promise<boolean> {
  const { items } = await cluster.listPage(secretKind, { namespace, labelSelector: `${labels.compute}=${uid}` });
  return items.some((item) => isObjectOf(secretKind, item) && item.metadata.name === name && isOwnedBy(item, uid));
}

async function repair(
  secret: KeptSecret,
  content: Content,
  event: EventInput | undefined,
  cluster: Cluster,
): Promise<Binding> {
  const { metadata } = secret;
  const wanted = metadataOf(content);
  const before = templateOf(metadata.annotations?.[builtFrom]);
  const patch = guardedPatch(secret, { resourceVersion: true }).set(["data"], content.data);
  for (const member of ["labels", "annotations"] as const) {
    // Only what the operator wrote is known: the labels and annotations of others stay as they are.
    const kept = metadata[member] ?? {};
    if (metadata[member] === undefined) patch.set(["metadata", member], {});
    for (const name of Object.keys(before[member])) {
      if (Object.hasOwn(kept, name) && !Object.hasOwn(wanted[member], name)) patch.remove(["metadata", member, name]);
    }
    for (const [name, value] of Object.entries(wanted[member])) {
      if (kept[name] !== value) patch.set(["metadata", member, name], value);
    }
  }
  await cluster.patch(secretKind, metadata, patch.ops());
  return { kind: "bound", name: metadata.name, event };
}

/** Labels and annotations that a Secret with this content has, whatever others it has. */
function metadataOf({ source, template, data }: Content) {
  return {
    labels: template.labels ?? {},
    annotations: { ...template.annotations, [builtFrom]: source, [digestOfData]: digest(data) },
  };
}

function isIntact(secret: KeptSecret, source: string, template: Template): boolean {
  const { labels: carried, annotations } = secret.metadata;
  const isMarked = contains(carried, template.labels) && contains(annotations, template.annotations);
  return isMarked && annotations?.[builtFrom] === source && annotations[digestOfData] === secret.dataDigest;
}

function contains(map: Readonly<Record<string, string>> = {}, wanted: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(wanted).every(([name, value]) => map[name] === value);
}

function isDigestOf({ metadata }: KeptSecret, data: Record<string, string>): boolean {
  return metadata.annotations?.[digestOfData] === digest(data);
}

function encoded(data: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString("base64")]));
}
