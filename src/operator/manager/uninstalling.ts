import type { ClusterClient } from "../kube/client.ts";
import type { ResourceKind } from "../kube/objects.ts";
import { builtInKind, isBeingDeleted } from "../objects/object.ts";
import { branchKind } from "../resources/branch.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import { computePoolKind } from "../resources/compute-pool.ts";
import type { Clock } from "../runtime/clock.ts";
import { shortlyMs } from "../runtime/waits.ts";

const crdKind = builtInKind("CustomResourceDefinition", "customresourcedefinitions", {
  group: "apiextensions.k8s.io",
  namespaced: false,
});

/**
 * True if a CRD (default: the one of Computes) is being deleted or gone. The API server marks the CRD before its
 * objects, so an answer to a request that began after a Compute's deletion was seen is proof. Throws if no answer came:
 * then nothing is deleted.
 */
export async function crdIsGoing(
  cluster: ClusterClient,
  { plural, group }: ResourceKind = computeKind,
): Promise<boolean> {
  const crd = await cluster.get(crdKind, { name: `${plural}.${group}` });
  return crd === undefined || isBeingDeleted(crd);
}

/**
 * Check for Computes that are deleted only because a CRD is: their own, or the one of the pool or Branch that owns
 * them.
 */
export class Uninstalling {
  readonly #cluster: ClusterClient;
  readonly #clock: Clock;
  readonly #onFound: () => void;
  /** The latest answer about each kind, and when its request began. */
  readonly #answers = new Map<string, { askedAt: number; going: Promise<boolean> }>();
  /** The kinds whose CRDs were being deleted in the latest answer. */
  readonly #found = new Set<string>();

  /** `onFound`: a CRD is found to be deleted, so every waiting deletion may ask again. */
  constructor(cluster: ClusterClient, clock: Clock, onFound: () => void) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#onFound = onFound;
  }

  /** Called for each deletion before it is sent. */
  async now(compute: Compute): Promise<boolean> {
    for (const kind of kindsOf(compute)) if (await this.#ask(kind)) return true;
    return false;
  }

  /** Called for deletions that wait. There may be thousands, so they share one request, whose "no" is
   * valid shortly. */
  async lately(compute: Compute): Promise<boolean> {
    for (const kind of kindsOf(compute)) {
      const last = this.#answers.get(kind.plural);
      const counts = last !== undefined && this.#clock.monotonic() - last.askedAt < shortlyMs;
      if (await (counts ? last.going : this.#ask(kind))) return true;
    }
    return false;
  }

  #ask(kind: ResourceKind): Promise<boolean> {
    const going = crdIsGoing(this.#cluster, kind).then(
      (answer) => {
        // The CRD may be created again, so only a "no" is remembered.
        if (answer) this.#answers.delete(kind.plural);
        this.#note(kind, answer);
        return answer;
      },
      (error: unknown) => {
        this.#answers.delete(kind.plural);
        throw error;
      },
    );
    this.#answers.set(kind.plural, { askedAt: this.#clock.monotonic(), going });
    return going;
  }

  #note({ plural }: ResourceKind, going: boolean): void {
    const isNews = going && !this.#found.has(plural);
    if (going) this.#found.add(plural);
    else this.#found.delete(plural);
    if (isNews) this.#onFound();
  }
}

function kindsOf({ metadata }: Compute): ResourceKind[] {
  const isOwnedBy = ({ kind: owner }: ResourceKind) =>
    metadata.ownerReferences?.some(({ kind }) => kind === owner) === true;
  return [computeKind, ...[computePoolKind, branchKind].filter(isOwnedBy)];
}
