import type { ClusterClient } from "../kube/client.ts";
import { isRefusal } from "../kube/errors.ts";
import type { EventInput } from "../kube/event-record.ts";
import type { Compute } from "../resources/compute.ts";
import { secretKind } from "../resources/secret.ts";
import type { KeptSecret } from "./kept-secret.ts";
import { secretLeft } from "./messages.ts";
import { agreementOf, isAt, isElsewhere, isOf, placeOfSecret, type SecretPlace, secretInStatus } from "./place.ts";
import type { SecretCache } from "./secret-cache.ts";
import { listOurs } from "./write-secret.ts";

export interface RemovalOptions {
  cluster: Pick<ClusterClient, "delete" | "listPage">;
  cache: Pick<SecretCache, "elsewhere" | "isLabelled">;
}

/**
 * Removes the Secrets that a Compute has in other namespaces, which no garbage collector does.
 *
 * Guarantees: what is deleted bears this Compute's mark in an answer of the API server from now, and lies in a
 * namespace that agrees. What stays is named by an event, once.
 */
export class SecretRemoval {
  readonly #options: RemovalOptions;
  /** Uids of the Secrets that stay, by the uid of their Computes. */
  readonly #left = new Map<string, Set<string>>();

  constructor(options: RemovalOptions) {
    this.#options = options;
  }

  /** All but the one that the spec names, once that stands. */
  others(compute: Compute): Promise<EventInput[]> {
    const wanted = placeOfSecret(compute);
    const kept = this.#known(compute).filter((secret) => !isAt(wanted, secret));
    const before = secretInStatus(compute);
    const isMoved = before !== undefined && !isSame(before, wanted);
    return this.#remove(compute, kept, isMoved ? [before.namespace] : [], wanted);
  }

  /** All, before the Compute is released. `uninstalling`: its definition goes, and then they stay. */
  async all(compute: Compute, uninstalling: () => Promise<boolean>): Promise<EventInput[]> {
    const known = this.#known(compute);
    const places = [secretInStatus(compute)?.namespace, placeOfSecret(compute)?.namespace];
    const isAnywhere = known.length > 0 || places.some((namespace) => isElsewhere({ namespace }, compute));
    if (!isAnywhere) return [];
    if (await uninstalling()) return known.map((secret) => secretLeft(secret.metadata, "definition"));
    return this.#remove(compute, known, places, undefined);
  }

  forget(uid: string): void {
    this.#left.delete(uid);
  }

  #known(compute: Compute): KeptSecret[] {
    const left = this.#left.get(compute.metadata.uid);
    const all = [...this.#options.cache.elsewhere(compute.metadata.uid)];
    return all.filter((secret) => isOf(secret, compute) && left?.has(secret.metadata.uid) !== true);
  }

  async #remove(
    compute: Compute,
    known: readonly KeptSecret[],
    more: readonly (string | undefined)[],
    wanted: SecretPlace | undefined,
  ): Promise<EventInput[]> {
    const all = [...known.map(({ metadata }) => metadata.namespace), ...more];
    const namespaces = new Set(
      all.filter((namespace) => namespace !== undefined && isElsewhere({ namespace }, compute)),
    );
    const events: EventInput[] = [];
    for (const namespace of namespaces) {
      const left = await this.#removeIn(namespace ?? "", compute, wanted);
      if (left !== undefined) events.push(...this.#leave(known, namespace ?? "", left, compute));
    }
    return events;
  }

  /** The reason for which those of a namespace stay; `undefined`: they are removed. */
  async #removeIn(
    namespace: string,
    compute: Compute,
    wanted: SecretPlace | undefined,
  ): Promise<"agreement" | "rights" | undefined> {
    const { cluster, cache } = this.#options;
    if (cache.isLabelled(namespace, agreementOf(compute)) !== true) return "agreement";
    try {
      for (const secret of await listOurs(namespace, compute, cluster)) {
        const { metadata } = secret;
        if (!isAt(wanted, secret)) await cluster.delete(secretKind, metadata, { uid: metadata.uid });
      }
      return undefined;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return "rights";
    }
  }

  #leave(known: readonly KeptSecret[], namespace: string, why: "agreement" | "rights", compute: Compute): EventInput[] {
    const { uid } = compute.metadata;
    const left = this.#left.get(uid) ?? new Set();
    const here = known.filter(({ metadata }) => metadata.namespace === namespace);
    for (const { metadata } of here) left.add(metadata.uid);
    this.#left.set(uid, left);
    return here.map(({ metadata }) => secretLeft(metadata, why));
  }
}

function isSame(a: { namespace?: string | undefined; name?: string | undefined }, b: SecretPlace | undefined): boolean {
  return a.namespace === b?.namespace && a.name === b?.name;
}
