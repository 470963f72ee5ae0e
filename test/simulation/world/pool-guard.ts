import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import type { ServiceWrite } from "./records.ts";

/** What somebody edits in a replica is put back by its pool, and never sent to the service. */
export class PoolGuard {
  readonly #poolStands: (uid: string) => boolean;
  readonly #report: (promise: string, message: string) => void;

  constructor(poolStands: (uid: string) => boolean, report: (promise: string, message: string) => void) {
    this.#poolStands = poolStands;
    this.#report = report;
  }

  /** A write leaves for the service, for one of these. */
  sent({ kind, body, endpointID }: ServiceWrite, claimants: readonly KubeObject[]): void {
    const endpoint = isJsonObject(body) ? body["endpoint"] : undefined;
    if (!isJsonObject(endpoint) || endpoint["disabled"] !== true || claimants.length === 0) return;
    if (claimants.every((compute) => this.#isReplica(compute))) {
      this.#report("replicas", `an edit of a replica was sent: ${kind} of ${endpointID ?? "a new endpoint"}`);
    }
  }

  #isReplica({ metadata }: KubeObject): boolean {
    const owners = metadata.ownerReferences ?? [];
    return owners.some(({ kind, uid }) => kind === "ComputePool" && this.#poolStands(uid));
  }
}
