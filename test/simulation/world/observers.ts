import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import { isJsonObject, type JsonObject, type KubeObject } from "../api-server/objects.ts";
import { conditionOf, isDeleting, specOf, statusOf, uidInSignature } from "./computes.ts";
import type { ServiceWrite } from "./records.ts";

// Computes with `managementPolicy: Observe`. No other judge knows them, so that what an operator sends for one is sent
// for nobody.

/** True for a Compute that only observes, as it always did. */
export function isObserver(compute: KubeObject): boolean {
  return specOf(compute)["managementPolicy"] === "Observe";
}

/** Refuses what carries the signature of a Compute that only observes. */
export class ObserverGuard {
  readonly #uids = new Set<string>();
  readonly #report: (promise: string, message: string) => void;

  constructor(report: (promise: string, message: string) => void) {
    this.#report = report;
  }

  /** Returns whether the Compute only observes. */
  changed(compute: KubeObject | undefined): boolean {
    if (compute === undefined || !isObserver(compute)) return false;
    this.#uids.add(compute.metadata.uid);
    return true;
  }

  sent({ kind, body, process }: ServiceWrite): void {
    const { name } = endpointIn(body);
    const uid = typeof name === "string" ? uidInSignature(name) : undefined;
    if (uid !== undefined && this.#uids.has(uid)) {
      this.#report("observing writes nothing", `${process} sends a ${kind} for ${uid}, which only observes`);
    }
  }
}

function endpointIn(body: unknown): JsonObject {
  const read: unknown = typeof body === "string" ? JSON.parse(body) : body;
  const { endpoint } = isJsonObject(read) ? read : { endpoint: undefined };
  return isJsonObject(endpoint) ? endpoint : {};
}

/** What is wrong with those that only observe, once all is well. */
export function observerComplaints(computes: readonly KubeObject[], endpoints: readonly StoredEndpoint[]): string[] {
  return computes
    .filter((compute) => isObserver(compute) && !isDeleting(compute))
    .flatMap((compute) => {
      const { name, finalizers = [] } = compute.metadata;
      const { projectID, branchID, type, adopt } = specOf(compute);
      const shown = conditionOf(compute, "Ready");
      const fits = endpoints.filter(
        (each) => each.projectId === projectID && each.branchId === branchID && each.type === type,
      );
      const { endpointID } = isJsonObject(adopt) ? adopt : {};
      const target = fits.find(({ id }) => endpointID === undefined || id === endpointID);
      const reason = target === undefined ? "AdoptionRefused" : "Observed";
      // A name that no branch has keeps it from looking.
      const isShown =
        branchID === undefined || (shown?.reason === reason && statusOf(compute)["endpointID"] === target?.id);
      return [
        ...(finalizers.length > 0 ? [`${name} only observes and carries a finalizer`] : []),
        ...(isShown
          ? []
          : [`${name} is to show ${target?.id} as ${reason} (${String(shown?.reason)}: ${String(shown?.message)})`]),
      ];
    });
}
