import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import { conditionOf, linkedID, uidInSignature } from "./computes.ts";
import { type ClusterWrite, markOf, type ServiceWrite } from "./records.ts";

/**
 * While a ClusterServiceConnection does not select a namespace, nothing is sent for its Computes, deletion included. A
 * process may not have heard of it yet; one that has said so in a condition has.
 */
export class AccessGuard {
  readonly #clock: Clock;
  readonly #report: (promise: string, message: string) => void;
  #isSelected = true;
  #selectedSince = Number.NEGATIVE_INFINITY;
  /** `process/uid` of each Compute that a process has said this of. */
  readonly #said = new Set<string>();

  constructor(clock: Clock, report: (promise: string, message: string) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  /** Somebody changed whether the namespace is selected. */
  selected(isSelected: boolean): void {
    this.#isSelected = isSelected;
    this.#selectedSince = this.#clock.monotonic();
    this.#said.clear();
  }

  /** Whether only who once was linked through the connection counts as its user, or did so long ago at most. */
  wasClosed(agoMs: number): boolean {
    return !this.#isSelected || this.#clock.monotonic() - this.#selectedSince <= agoMs;
  }

  clusterWritten({ process, resource, before, after }: ClusterWrite): void {
    if (this.#isSelected || resource !== "computes" || after === undefined) return;
    const message = conditionOf(after, "Ready")?.message;
    if (typeof message !== "string" || !message.includes("does not select namespace")) return;
    // What another process said, and this one left as it was, says nothing of what this one has heard.
    if (before !== undefined && conditionOf(before, "Ready")?.message === message) return;
    this.#said.add(`${process}/${after.metadata.uid}`);
  }

  sent(write: ServiceWrite): void {
    const uids = write.kind === "create" ? [uidInSignature(markOf(write))] : usersOf(write, write.target);
    const isSaid = uids.length > 0 && uids.every((uid) => this.#said.has(`${write.process}/${uid}`));
    if (isSaid) this.#report("nothing for a namespace without access", `${write.process} sent a ${write.kind}`);
  }
}

/** The Computes that a write may be for. */
function usersOf({ computes }: ServiceWrite, target: StoredEndpoint | undefined): string[] {
  const linked = computes.filter((compute) => linkedID(compute) === target?.id).map(({ metadata }) => metadata.uid);
  const maker = uidInSignature(target?.name);
  return [...linked, ...(maker === undefined ? [] : [maker])];
}
