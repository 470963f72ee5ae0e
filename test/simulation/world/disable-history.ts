import type { Clock } from "../../../src/operator/runtime/clock.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import { linkedID, statusOf, uidInSignature } from "./computes.ts";
import { markOf, type ServiceWrite } from "./records.ts";
import { onTheWayMs } from "./register.ts";

/**
 * Which endpoints an operator disabled, and for which Compute: nobody else has changed that since, nor lost the
 * note.
 */
export class DisableHistory {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #uids = new Map<string, string>();
  /** When a person last changed the status of each Compute: with it went the note of a write that was on its way. */
  readonly #notesTakenAt = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** The uid of the Compute that an endpoint was disabled for. */
  uidOf(endpointID: string): string | undefined {
    return this.#uids.get(endpointID);
  }

  carriedOut(write: ServiceWrite): void {
    const { endpointID, body, carriedOut, computes, sentAt, beyondSettle } = write;
    const endpoint = isJsonObject(body) ? body["endpoint"] : undefined;
    const disabled = isJsonObject(endpoint) ? endpoint["disabled"] : undefined;
    const accepted = (carriedOut?.status ?? 500) < 300;
    if (endpointID === undefined || typeof disabled !== "boolean" || !accepted) return;
    const linked = computes.filter((compute) => linkedID(compute) === endpointID);
    const uid = write.kind === "create" ? uidInSignature(markOf(write)) : linked[0]?.metadata.uid;
    // Of several that are linked to one endpoint nobody could tell which of them sent it.
    // What arrives after `--create-settle` is over is nobody's any more: an operator waits no longer for it.
    // What is sent right after a person took the note was planned before.
    const takenAt = this.#notesTakenAt.get(uid ?? "") ?? Number.NEGATIVE_INFINITY;
    const isNoted = uid !== undefined && sentAt > takenAt + onTheWayMs && !beyondSettle;
    if (disabled && isNoted && linked.length < 2) this.#uids.set(endpointID, uid);
    else this.#uids.delete(endpointID);
  }

  /** A person changed the endpoint at the service. */
  changedByPerson(endpointID: string): void {
    this.#uids.delete(endpointID);
  }

  /** A Compute changed; where a person took the note, as with the whole status, nothing tells any more. */
  computeChanged(before: KubeObject | undefined, after: KubeObject, byOperator: boolean): void {
    if (byOperator || before === undefined || JSON.stringify(statusOf(before)) === JSON.stringify(statusOf(after)))
      return;
    this.#notesTakenAt.set(after.metadata.uid, this.#clock.monotonic());
    for (const [endpointID, uid] of this.#uids) if (uid === after.metadata.uid) this.#uids.delete(endpointID);
  }
}
