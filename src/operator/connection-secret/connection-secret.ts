import type { Endpoint } from "../../api/endpoint.ts";
import type { ClusterClient } from "../kube/client.ts";
import { isRefusal } from "../kube/errors.ts";
import type { EventInput } from "../kube/event-record.ts";
import { isBeingDeleted } from "../objects/object.ts";
import type { Compute } from "../resources/compute.ts";
import { isObserved } from "../resources/management-policy.ts";
import { labels } from "../resources/names.ts";
import { secretKind } from "../resources/secret.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Failure } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { Binding } from "./binding.ts";
import { encoded, passwordIn } from "./details.ts";
import { filledDetails, whyUnread } from "./filled-details.ts";
import { isDigestOf, isOwnedBy, type KeptSecret, originIn, uriIn } from "./kept-secret.ts";
import { passwordRotated, secretForbidden, secretNotAllowed } from "./messages.ts";
import { type NamedSecret, namedSecret, recordOf } from "./named-secret.ts";
import { agreementOf, formerOwner, isAt, isElsewhere, isOf, placeOfSecret, type SecretPlace } from "./place.ts";
import { Readings } from "./readings.ts";
import { type CrdDeletion, SecretRemoval } from "./removal.ts";
import { dataPace, Repairs, recordPace } from "./repairs.ts";
import { type PasswordRecord, recordAfter, recordIn, type Turn } from "./rotation.ts";
import type { SecretCache } from "./secret-cache.ts";
import {
  createSecret,
  listOurs,
  nameAt,
  noteReset,
  recordPassword,
  repairSecret,
  rewritten,
  writeRefused,
} from "./write-secret.ts";

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
  /** True if the Secret was rejected before: that stands until the service gives details again. */
  wasRejected: boolean;
  /** The rotation of its password; `undefined`: its password is not recorded, as a read replica's. */
  turn?: Turn | undefined;
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
  readonly #repairs: Repairs;
  readonly #records: Repairs;
  readonly #removal: SecretRemoval;

  constructor(options: ConnectionSecretOptions) {
    this.#options = options;
    this.#removal = new SecretRemoval(options);
    this.#readings = new Readings(options.clock);
    this.#repairs = new Repairs(options.clock, dataPace);
    this.#records = new Repairs(options.clock, recordPace);
  }

  async keep(compute: Compute, endpoint: Endpoint, occasion: Occasion): Promise<Binding> {
    try {
      return await this.#keep(compute, endpoint, occasion);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return writeRefused(compute, error);
    }
  }

  /** The Compute's Secret at this place, as it was last made. */
  standing(place: SecretPlace, compute: Compute): KeptSecret | undefined {
    const secret = this.#options.cache.at(place);
    return secret !== undefined && isOf(secret, compute) ? secret : undefined;
  }

  /** Removes those in other namespaces before the Compute is released; events of what stays, `undefined`: later. */
  remove(compute: Compute, uninstalling: CrdDeletion): Promise<EventInput[] | undefined> {
    return this.#removal.all(compute, uninstalling);
  }

  /** The events of the Secrets in other namespaces that stay, because a Compute went without its finalizer. */
  leftBehind(compute: Compute): EventInput[] {
    return this.#removal.leftBehind(compute);
  }

  /** The Secrets of a Compute that it does not own any more, and that stay when it goes. */
  ownerless({ metadata: { namespace = "", uid } }: Compute): string[] {
    const isLabelled = ({ metadata }: KeptSecret) => metadata.labels?.[labels.compute] === uid;
    const labelled = (this.#options.cache.ours(namespace) ?? []).filter(isLabelled);
    return labelled.filter((secret) => !isOwnedBy(secret, uid)).map(({ metadata }) => metadata.name);
  }

  /** The time, after `since`, of the next question whether the Secret still holds, or of a repair that waits. */
  readingDueAt(uid: string, since: number): number | undefined {
    return this.#repairs.nextAt(uid, since) ?? this.#readings.nextAt(uid, since);
  }

  forget(uid: string): void {
    this.#readings.stop(uid);
    this.#repairs.forget(uid);
    this.#records.forget(uid);
    this.#removal.forget(uid);
  }

  async #keep(compute: Compute, endpoint: Endpoint, occasion: Occasion): Promise<Binding> {
    const { cluster, cache } = this.#options;
    const { namespace = "", uid } = compute.metadata;
    const wanted = compute.spec.connectionSecret;
    const ours = cache.ours(namespace);
    if (ours === undefined && wanted !== undefined) {
      return { kind: "failed", reason: "Forbidden", message: secretForbidden.toRead };
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
    const isFormer = (each: KeptSecret) => isOwnedBy(each, uid) && !isAt(place, each) && !isBeingDeleted(each);
    for (const secret of (ours ?? []).filter(isFormer)) {
      await cluster.delete(secretKind, secret.metadata);
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

  /** The role in the Secret of the Compute that changes the passwords of these two roles: one that observes follows. */
  #roleFollowed(compute: Compute): string | undefined {
    if (!isObserved(compute) || compute.spec.connectionSecret?.roles === undefined) return undefined;
    const rotating = this.#options.cache.sharingRole(compute).filter((one) => !isObserved(one));
    const [record] = rotating.flatMap((one) => (one.spec.connectionSecret?.roles ? (this.recorded(one) ?? []) : []));
    return record?.role;
  }

  /** The record of the password in the Secret that a Compute names, by the cache; `undefined`: none stands. */
  recorded(compute: Compute): PasswordRecord | undefined {
    const place = placeOfSecret(compute);
    const isWritable = place !== undefined && this.#refusal(place, compute) === undefined;
    return recordOf(isWritable ? this.standing(place, compute) : undefined, compute);
  }

  /** The same, read from the API server now. */
  async recordedNow(compute: Compute): Promise<PasswordRecord | undefined> {
    return recordOf(await this.#standingNow(compute), compute);
  }

  /** Notes in the Secret that a reset of its password is sent at this time; `undefined`: that none was. */
  async noteReset(compute: Compute, at: number | undefined): Promise<void> {
    const secret = await this.#standingNow(compute);
    if (secret !== undefined) await noteReset(secret, at, this.#options.cluster);
  }

  async #standingNow(compute: Compute): Promise<KeptSecret | undefined> {
    const place = placeOfSecret(compute);
    // Another namespace may have withdrawn its agreement: a new password could not be written there.
    if (place === undefined || this.#refusal(place, compute) !== undefined) return undefined;
    const secrets = await listOurs(place.namespace, compute, this.#options.cluster);
    return secrets.find((secret) => isAt(place, secret));
  }

  /** The password of a Compute's Secret may change late: it is read again once nothing can take effect any more. */
  readSoon(uid: string): void {
    this.#readings.failed(uid);
  }

  /** The password in a Compute's Secret was changed for another Compute: it is read again at once. */
  readNow(uid: string): void {
    this.#readings.dueNow(uid);
  }

  async #keepNamed(
    compute: Compute,
    wanted: Wanted & { place: SecretPlace },
    endpoint: Endpoint,
    occasion: Occasion,
  ): Promise<Binding> {
    const { affordable, wasRejected, requested, turn } = occasion;
    const { uid } = compute.metadata;
    if (wanted.database === undefined) this.#readings.stop(uid);
    if (endpoint.host === undefined) return none;
    const given = { existing: this.#existing(wanted.place, compute), turn, followed: this.#roleFollowed(compute) };
    const named = namedSecret(compute, wanted, endpoint, given);
    const { existing, intact, source } = named;
    const bound: Binding = { kind: "bound", name: wanted.name };
    if (intact && wanted.database === undefined) return bound;
    const isRepair = !intact && turn?.reset === undefined;
    if (isRepair && !this.#repairs.mayBegin(uid, source)) return { kind: "later" };
    const due = wanted.database !== undefined && this.#readings.isDue(uid);
    // A password that is to be read for a rotation does not wait for its hour.
    const isForced = requested || wasRejected || turn?.reset !== undefined || turn?.reveals === true;
    if (existing !== undefined && intact && !due && !isForced) {
      const before = recordIn(existing, wanted);
      const isMissing = turn !== undefined && before?.rotatedAt === undefined;
      if (isMissing && this.#records.mayBegin(uid, source)) {
        this.#records.done(uid, source);
        await recordPassword(existing, recordAfter(wanted, before, false, turn), this.#options.cluster);
      }
      return bound;
    }
    // A mere check keeps the Secret as it stands where the service cannot be asked.
    const unread: Binding = intact && !isForced ? bound : { kind: "later" };
    if (wanted.database !== undefined && !affordable()) {
      if (due) this.#readings.failed(uid);
      return unread;
    }
    const read = await this.#read(compute, named, endpoint, occasion);
    if (read.kind === "failed") {
      this.#readings.failed(uid);
      const isShown = read.failure.kind === "notFound" || requested || turn?.reset !== undefined || !intact;
      return isShown ? whyUnread(read.failure, wanted, endpoint.branch_id) : unread;
    }
    // Other readings leave the hour as it is: it is what spreads a fleet.
    if (due) this.#readings.succeeded(uid);
    const { binding, isStored } = read;
    return binding.kind === "bound" && turn !== undefined ? { ...binding, isStored } : binding;
  }

  /** Asks the service for the data of a Secret, and writes it where it is another. */
  async #read(
    compute: Compute,
    { wanted, existing, isOurs, role, source, template, intact }: NamedSecret,
    endpoint: Endpoint,
    { client, turn }: Occasion,
  ): Promise<{ kind: "read"; binding: Binding; isStored: boolean } | { kind: "failed"; failure: Failure }> {
    const { cluster, signal } = this.#options;
    const before = existing && recordIn(existing, wanted);
    const isOfBranch = existing !== undefined && originIn(existing.metadata).branchID === endpoint.branch_id;
    const known = isOfBranch && before?.role === role ? uriIn(existing) : undefined;
    const login = { role, held: intact ? known : undefined, known, password: turn?.reset?.password };
    const details = await filledDetails(compute, endpoint, login, client, signal);
    if (details.kind === "failed") return details;
    const { isStored = true } = details;
    const read = (binding: Binding) => ({ kind: "read", binding, isStored }) as const;
    const bound: Binding = { kind: "bound", name: wanted.name };
    if (details.kind === "same") return read(bound);
    if (details.kind === "rejected") return read({ kind: "failed", reason: "Rejected", message: details.message });
    const isOther = passwordIn(details.data["uri"]) !== passwordIn(known);
    const rotated = turn && recordAfter(wanted, before, isOther, turn);
    const content = { source, template, rotated, data: encoded(details.data) };
    if (existing !== undefined && intact && isDigestOf(existing, content.data)) return read(bound);
    const write = () =>
      existing === undefined
        ? createSecret(compute, wanted.place, content, cluster)
        : repairSecret(compute, existing, content, cluster).then(() => bound);
    const written = await this.#removal.creating(wanted.place, compute, write);
    if (written.kind === "bound") this.#repairs.done(compute.metadata.uid, source);
    if (existing === undefined) return read(written);
    if (turn?.reset !== undefined) return read({ ...bound, event: passwordRotated(turn.reset.role) });
    if (!isOurs) return read(bound);
    return read({ ...bound, event: rewritten(existing, nameAt(wanted.place, compute), { source, intact, role }) });
  }
}

const none: Binding = { kind: "none" };
