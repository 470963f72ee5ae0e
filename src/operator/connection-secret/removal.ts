import type { ClusterClient } from "../kube/client.ts";
import { isRefusal, isTransient } from "../kube/errors.ts";
import type { EventInput } from "../kube/event-record.ts";
import { isBeingDeleted } from "../objects/object.ts";
import type { Compute } from "../resources/compute.ts";
import { secretKind } from "../resources/secret.ts";
import type { Clock } from "../runtime/clock.ts";
import type { KeptSecret } from "./kept-secret.ts";
import { secretLeft, type WhyLeft } from "./messages.ts";
import { agreementOf, isAt, isElsewhere, isOf, placeOfSecret, type SecretPlace, secretInStatus } from "./place.ts";
import type { SecretCache } from "./secret-cache.ts";
import { listOurs } from "./write-secret.ts";

/** Check for a Compute that is deleted only because the CRD itself is: then nothing is deleted at the service. */
export interface CrdDeletion {
  /** Asks the API server now. */
  now(compute: Compute): Promise<boolean>;
  /** Asks the API server once for all who wait. */
  lately(compute: Compute): Promise<boolean>;
}

export interface RemovalOptions {
  cluster: Pick<ClusterClient, "delete" | "listPage">;
  cache: Pick<SecretCache, "elsewhere" | "isLabelled" | "namespacesWith">;
  clock: Pick<Clock, "monotonic">;
}

/** The time after which a create without an answer has no effect any more: the API server ends a request within it. */
const lateMs = 60_000;

/**
 * Removes the Secrets that a Compute has in other namespaces, which no garbage collector does.
 *
 * Guarantees: a Secret that is deleted bears this Compute's mark in an answer of the API server from now, and lies in a
 * namespace that agrees. One that stays is named by an event, once.
 */
export class SecretRemoval {
  readonly #options: RemovalOptions;
  /** Uids of the Secrets that stay, by the uid of their Computes. */
  readonly #left = new Map<string, Set<string>>();
  /** Times until which a create without an answer may take effect, by the uid of the Compute. */
  readonly #lateUntil = new Map<string, number>();
  /** The same for the creates of a process before this one, which may have died during any of them. */
  readonly #othersLateUntil: number;

  constructor(options: RemovalOptions) {
    this.#options = options;
    this.#othersLateUntil = options.clock.monotonic() + lateMs;
  }

  /** All but the one that the spec names, once that stands. */
  others(compute: Compute): Promise<EventInput[]> {
    const wanted = placeOfSecret(compute);
    const before = secretInStatus(compute);
    const moved = before !== undefined && !isSame(before, wanted) ? before.namespace : undefined;
    // One that the status does not name is left of a write whose answer nobody noted.
    const known = this.#known(compute).filter(
      (secret) => !isAt(wanted, secret) && (secret.metadata.namespace === moved || this.#agrees(secret, compute)),
    );
    return this.#remove(compute, known, [moved], wanted);
  }

  /**
   * Sends a create, or a repair, by which a former Compute's Secret becomes this one's. One without an answer may bring
   * a Secret late, of which only the Compute's finalizer knows.
   */
  async creating<T>(place: SecretPlace, compute: Compute, create: () => Promise<T>): Promise<T> {
    try {
      return await create();
    } catch (error) {
      const until = this.#options.clock.monotonic() + lateMs;
      if (isElsewhere(place, compute) && isTransient(error)) this.#lateUntil.set(compute.metadata.uid, until);
      throw error;
    }
  }

  /**
   * All, before the Compute is released. `uninstalling`: its definition goes, and then they stay. `undefined`: another
   * one may still come to be.
   */
  async all(compute: Compute, uninstalling: CrdDeletion): Promise<EventInput[] | undefined> {
    const known = this.#known(compute);
    // Wherever a namespace agrees one may have been created, whatever the spec names by now.
    const agreeing = this.#options.cache.namespacesWith(agreementOf(compute));
    const named = [secretInStatus(compute), placeOfSecret(compute)].flatMap((place) => place?.namespace ?? []);
    const isThere = (namespace: string) => isElsewhere({ namespace }, compute);
    const places = [...named, ...agreeing].filter(isThere);
    if (known.length === 0 && places.length === 0) return [];
    const lateUntil = this.#lateUntil.get(compute.metadata.uid) ?? (agreeing.some(isThere) ? this.#othersLateUntil : 0);
    const waits = this.#options.clock.monotonic() < lateUntil;
    const isUninstalled = await (waits ? uninstalling.lately(compute) : uninstalling.now(compute));
    if (isUninstalled) return known.map(({ metadata }) => secretLeft(metadata, "definition"));
    return waits ? undefined : this.#remove(compute, known, places, undefined);
  }

  leftBehind(compute: Compute): EventInput[] {
    return this.#known(compute).map(({ metadata }) => secretLeft(metadata, "finalizer"));
  }

  forget(uid: string): void {
    this.#left.delete(uid);
    this.#lateUntil.delete(uid);
  }

  #known(compute: Compute): KeptSecret[] {
    const left = this.#left.get(compute.metadata.uid);
    const all = [...this.#options.cache.elsewhere(compute.metadata.uid)];
    return all.filter(
      (secret) => isOf(secret, compute) && !isBeingDeleted(secret) && left?.has(secret.metadata.uid) !== true,
    );
  }

  #agrees({ metadata: { namespace = "" } }: KeptSecret, compute: Compute): boolean {
    return this.#options.cache.isLabelled(namespace, agreementOf(compute)) === true;
  }

  async #remove(
    compute: Compute,
    known: readonly KeptSecret[],
    more: readonly (string | undefined)[],
    wanted: SecretPlace | undefined,
  ): Promise<EventInput[]> {
    const all = [...known.map(({ metadata }) => metadata.namespace), ...more].flatMap((namespace) => namespace ?? []);
    const events: EventInput[] = [];
    for (const namespace of new Set(all.filter((one) => isElsewhere({ namespace: one }, compute)))) {
      const why = await this.#removeIn(namespace, compute, wanted);
      if (why !== undefined) events.push(...this.#leave(known, namespace, why, compute));
    }
    return events;
  }

  /** The reason for which those of a namespace stay; `undefined`: they are removed. */
  async #removeIn(namespace: string, compute: Compute, wanted: SecretPlace | undefined): Promise<WhyLeft | undefined> {
    const { cluster, cache } = this.#options;
    const agrees = cache.isLabelled(namespace, agreementOf(compute));
    if (agrees !== true) return agrees === undefined ? "sight" : "agreement";
    try {
      for (const secret of await listOurs(namespace, compute, cluster)) {
        const { metadata } = secret;
        // Somebody's finalizer may keep one that is deleted.
        if (!isAt(wanted, secret) && !isBeingDeleted(secret)) await cluster.delete(secretKind, metadata);
      }
      return undefined;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return "rights";
    }
  }

  /** The events of those that stay. Without the right to see them, the status alone knows one. */
  #leave(known: readonly KeptSecret[], namespace: string, why: WhyLeft, compute: Compute): EventInput[] {
    const { uid } = compute.metadata;
    const left = this.#left.get(uid) ?? new Set();
    const here = known.flatMap(({ metadata }) => (metadata.namespace === namespace ? [metadata] : []));
    for (const metadata of here) left.add(metadata.uid);
    this.#left.set(uid, left);
    const before = secretInStatus(compute);
    const unseen = why !== "agreement" && here.length === 0 && before?.namespace === namespace;
    const { name = "" } = before ?? {};
    return (unseen ? [{ namespace, name }] : here).map((place) => secretLeft(place, why));
  }
}

function isSame(a: { namespace?: string | undefined; name?: string | undefined }, b: SecretPlace | undefined): boolean {
  return a.namespace === b?.namespace && a.name === b?.name;
}
