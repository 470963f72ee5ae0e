import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { KubeObject } from "../api-server/objects.ts";
import type { ApiServer } from "../api-server/server.ts";
import { annotationOf, statusOf } from "../world/computes.ts";
import type { Shown, View } from "./judge.ts";

/** Everything that a cluster's Computes ever were. */
export class Witness {
  readonly computes = new Map<string, KubeObject>();
  readonly linked = new Set<string>();
  readonly #versions = new Map<string, { at: number; object: KubeObject }[]>();
  readonly #clock: Clock;
  readonly #inGoodFaithMs: number;

  /** `inGoodFaithMs`: how old a view may be on which an operator still acts in good faith. */
  constructor(server: ApiServer, clock: Clock, inGoodFaithMs: number) {
    this.#clock = clock;
    this.#inGoodFaithMs = inGoodFaithMs;
    server.store.subscribe(({ resource, object: last, previous, type }) => {
      if (resource.plural !== "computes") return;
      const { uid } = last.metadata;
      const { deletionTimestamp = "long ago" } = last.metadata;
      const gone = { ...last, metadata: { ...last.metadata, deletionTimestamp } };
      const object = type === "DELETED" ? gone : last;
      this.computes.set(uid, object);
      this.#versions.set(uid, [...(this.#versions.get(uid) ?? []), { at: clock.monotonic(), object }]);
      if ([object, previous].some((one) => one !== undefined && this.isLinked(one))) this.linked.add(uid);
    });
  }

  /** Whether an object shows that it is linked to an endpoint. */
  isLinked(compute: KubeObject): boolean {
    return (annotationOf(compute, "endpoint-id") ?? statusOf(compute)["endpointID"]) !== undefined;
  }

  view(fleet: string): View {
    const since = this.#clock.monotonic() - this.#inGoodFaithMs;
    const versionsOf = (uid: string) => {
      const all = this.#versions.get(uid) ?? [];
      // One that was replaced since then was still the newest for a while.
      return all
        .filter((_, index) => (all[index + 1]?.at ?? Number.POSITIVE_INFINITY) >= since)
        .map(({ object }) => object);
    };
    const isNew = ({ created_at = "" }: Shown & { created_at?: string }) =>
      Date.parse(created_at) > this.#clock.now() - this.#inGoodFaithMs;
    return { fleet, computes: [...this.computes.values()], linked: this.linked, versionsOf, isNew };
  }
}
