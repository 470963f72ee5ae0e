import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { KubeObject } from "../api-server/objects.ts";
import type { Change } from "../api-server/store.ts";
import { conditionOf, isDeleting, specOf, statusOf } from "./computes.ts";
import { goodFaithMs } from "./register.ts";
import type { Services } from "./services.ts";

/** More of a project's endpoints than this, gone at once, are a mass loss. */
const mostLost = 3;

export interface LossPorts {
  clock: Clock;
  services: Services;
  computes: () => readonly KubeObject[];
}

/**
 * Knows which Computes rightly say `MassLoss`: more than three endpoints of the project were gone at once, base URL or
 * key changed since the Compute was linked, or no status says through which one its endpoint was last seen. Only what
 * is right does a person confirm.
 */
export class LossGuard {
  readonly #ports: LossPorts;
  /** By project: when too many were last gone at once. */
  readonly #manyGoneAt = new Map<unknown, number>();
  /** By uid: since when a Compute is linked to the endpoint of its status. */
  readonly #linkedAt = new Map<string, number>();
  readonly #right = new Set<string>();

  constructor(ports: LossPorts) {
    this.#ports = ports;
  }

  changed({ resource, object, previous, type }: Change): void {
    if (resource.plural !== "computes" || type === "DELETED") return;
    const now = this.#ports.clock.monotonic();
    const { uid } = object.metadata;
    const id = statusOf(object)["endpointID"];
    if (id !== (previous && statusOf(previous)["endpointID"])) this.#linkedAt.set(uid, now);
    const { projectID } = specOf(object);
    if (this.#missing(projectID) > mostLost) this.#manyGoneAt.set(projectID, now);
    if (reasonOf(object) !== "MassLoss") this.#right.delete(uid);
    else if (reasonOf(previous) !== "MassLoss" && this.#isRight(object, previous)) this.#right.add(uid);
  }

  /** True if the `MassLoss` that a Compute shows now was right when it came up. */
  isRight(uid: string): boolean {
    return this.#right.has(uid);
  }

  #isRight(compute: KubeObject, previous: KubeObject | undefined): boolean {
    const { clock, services } = this.#ports;
    const manyGoneAt = this.#manyGoneAt.get(specOf(compute)["projectID"]) ?? Number.NEGATIVE_INFINITY;
    // An operator that sees changes late may still count Computes that are gone.
    if (manyGoneAt >= clock.monotonic() - goodFaithMs) return true;
    if ([compute, previous].some((one) => one === undefined || statusOf(one)["observedThrough"] === undefined))
      return true;
    // It may have been linked by an operator that had not heard of the change yet.
    const since = (this.#linkedAt.get(compute.metadata.uid) ?? 0) - goodFaithMs;
    return services.editedSince(since) || services.hadOtherKeySince(since);
  }

  #missing(projectID: unknown): number {
    const { services, computes } = this.#ports;
    const present = services.at(services.baseURL);
    return computes().filter((compute) => {
      const id = statusOf(compute)["endpointID"];
      const isOfProject = specOf(compute)["projectID"] === projectID && !isDeleting(compute);
      return isOfProject && typeof id === "string" && present.endpoint(id) === undefined;
    }).length;
  }
}

function reasonOf(compute: KubeObject | undefined): unknown {
  return compute && conditionOf(compute, "Ready")?.reason;
}
