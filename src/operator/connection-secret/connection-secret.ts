import type { Endpoint } from "../../api/endpoint.ts";
import type { ClusterClient } from "../kube/client.ts";
import { isRefusal } from "../kube/errors.ts";
import type { EventInput } from "../kube/event-record.ts";
import type { Compute } from "../resources/compute.ts";
import { labels } from "../resources/names.ts";
import { secretKind } from "../resources/secret.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { Binding } from "./binding.ts";
import { filledDetails, whyUnread } from "./filled-details.ts";
import { builtFrom, digest, digestOfData, isOwnedBy, type KeptSecret } from "./kept-secret.ts";
import { secretForbidden, secretNotAllowed, secretRejected, secretUpdated } from "./messages.ts";
import { agreementOf, formerOwner, isAt, isElsewhere, isOf, placeOfSecret, type SecretPlace } from "./place.ts";
import { Readings } from "./readings.ts";
import { SecretRemoval } from "./removal.ts";
import type { SecretCache } from "./secret-cache.ts";
import type { Template } from "./template.ts";
import { createSecret, repairSecret } from "./write-secret.ts";

type Cluster = Pick<ClusterClient, "create" | "delete" | "listPage" | "patch">;

export interface ConnectionSecretOptions {
  cluster: Cluster;
  clock: Clock;
  signal: AbortSignal;
  cache: SecretCache;
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

type Wanted = NonNullable<Compute["spec"]["connectionSecret"]>;

/**
 * Keeps the Secret that `spec.connectionSecret` names: made, repaired, moved to a new host; others of ours removed.
 *
 * Expected flow: the caller keeps the Secret in each reconcile of a Compute that has an endpoint, comes back when a
 * reading is due, and forgets a Compute that is gone.
 * Guarantees: a Secret that is not ours is never written over. Another namespace is written to only where it agrees. Of
 * several Secrets, the old one goes after the new one stands.
 */
export class ConnectionSecrets {
  readonly #options: ConnectionSecretOptions;
  readonly #readings: Readings;
  readonly #removal: SecretRemoval;

  constructor(options: ConnectionSecretOptions) {
    this.#options = options;
    this.#removal = new SecretRemoval(options);
    this.#readings = new Readings(options.clock);
  }

  async keep(compute: Compute, endpoint: Endpoint, occasion: Occasion): Promise<Binding> {
    try {
      return await this.#keep(compute, endpoint, occasion);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (error.status === 403) {
        const message = secretForbidden.toWrite(placeOfSecret(compute)?.namespace ?? "");
        return { kind: "failed", reason: "Forbidden", message };
      }
      const message = secretRejected.byCluster(compute.spec.connectionSecret?.name ?? "", error.message);
      return { kind: "failed", reason: "Rejected", message };
    }
  }

  /** The Compute's Secret at this place, as it was last made. */
  standing(place: SecretPlace, compute: Compute): KeptSecret | undefined {
    const secret = this.#options.cache.at(place);
    return secret !== undefined && isOf(secret, compute) ? secret : undefined;
  }

  /** Removes the Secrets in other namespaces, before the Compute is released; the events of those that stay. */
  remove(compute: Compute, uninstalling: () => Promise<boolean>): Promise<EventInput[]> {
    return this.#removal.all(compute, uninstalling);
  }

  /** The Secrets of a Compute that it does not own any more, and that stay when it goes. */
  ownerless({ metadata: { namespace = "", uid } }: Compute): string[] {
    const labelled = (this.#options.cache.ours(namespace) ?? []).filter(
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
    this.#removal.forget(uid);
  }

  async #keep(compute: Compute, endpoint: Endpoint, occasion: Occasion): Promise<Binding> {
    const { cluster, cache } = this.#options;
    const { namespace = "", uid } = compute.metadata;
    const wanted = compute.spec.connectionSecret;
    const ours = cache.ours(namespace);
    if (ours === undefined) {
      return wanted === undefined ? none : { kind: "failed", reason: "Forbidden", message: secretForbidden.toRead };
    }
    const place = placeOfSecret(compute);
    const refused = place && this.#refusal(place, compute);
    if (refused !== undefined) return refused;
    const binding =
      wanted === undefined || place === undefined
        ? none
        : await this.#keepNamed(compute, { ...wanted, place }, endpoint, occasion);
    // Not before the one that takes their place is there.
    if (binding.kind !== "bound" && (binding.kind !== "none" || wanted !== undefined)) return binding;
    for (const secret of ours.filter((each) => isOwnedBy(each, uid) && !isAt(place, each))) {
      await cluster.delete(secretKind, secret.metadata, { uid: secret.metadata.uid });
    }
    const left = await this.#removal.others(compute);
    return left.length > 0 ? { ...binding, left } : binding;
  }

  /** Another namespace has to agree. */
  #refusal(place: SecretPlace, compute: Compute): Binding | undefined {
    if (!isElsewhere(place, compute)) return undefined;
    const { namespace } = place;
    const agreement = agreementOf(compute);
    const agrees = this.#options.cache.isLabelled(namespace, agreement);
    if (agrees === true) return undefined;
    return agrees === undefined
      ? { kind: "failed", reason: "Forbidden", message: secretForbidden.toSeeNamespaces(namespace) }
      : { kind: "failed", reason: "SecretNotAllowed", message: secretNotAllowed(namespace, agreement) };
  }

  /** The Secret that is written: the Compute's, or a former one's of its namespace and name, as after a restore. */
  #existing(place: SecretPlace, compute: Compute): KeptSecret | undefined {
    const { at, isLive } = this.#options.cache;
    const secret = at(place);
    if (secret === undefined || isOf(secret, compute)) return secret;
    const former = formerOwner(secret, compute);
    return former !== undefined && !isLive(former) ? secret : undefined;
  }

  async #keepNamed(
    compute: Compute,
    wanted: Wanted & { place: SecretPlace },
    endpoint: Endpoint,
    { client, affordable, refused, requested }: Occasion,
  ): Promise<Binding> {
    const { cluster, signal } = this.#options;
    const readings = this.#readings;
    const { uid } = compute.metadata;
    if (wanted.database === undefined) readings.stop(uid);
    if (endpoint.host === undefined) return none;
    const { place } = wanted;
    const existing = this.#existing(place, compute);
    // The branch too: a role may have another password on each.
    const { id, host, branch_id } = endpoint;
    const { database, role } = wanted;
    // Labels and annotations mean something to others in another namespace.
    const template = isElsewhere(place, compute) ? { data: wanted.template?.data ?? {} } : (wanted.template ?? {});
    const more = wanted.template === undefined ? [] : [template];
    const source = JSON.stringify([id, host, branch_id, database, role, ...more]);
    const isOurs = existing !== undefined && isOf(existing, compute);
    const intact = isOurs && isIntact(existing, source, template);
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
    if (existing === undefined) return createSecret(compute, place, content, cluster);
    if (intact && isDigestOf(existing, content.data)) return bound;
    await repairSecret(compute, existing, content, cluster);
    return isOurs ? { ...bound, event: rewritten(existing, source, intact, role) } : bound;
  }
}

const none: Binding = { kind: "none" };

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
