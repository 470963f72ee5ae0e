import type { Clock } from "../../../src/operator/runtime/clock.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import { annotationOf, conditionOf, linkedID, recordOf, statusOf } from "./computes.ts";
import type { ClusterWrite, ServiceWrite } from "./records.ts";
import { onTheWayMs } from "./register.ts";
import type { Services } from "./services.ts";

export interface RestartGuardOptions {
  clock: Clock;
  services: Services;
  /** Since when a process remembers what it did. */
  knowsSince: (process: string) => number;
}

/** The list that a restart is sent from is at most a refresh old, and lags by some seconds, in milliseconds. */
const lastListMs = 45_000;

/**
 * A restart once per value, again only where the reply to the one before was lost, or the term that heard it ended; and
 * done when it is said to be.
 */
export class RestartGuard {
  readonly #clock: Clock;
  readonly #services: Services;
  readonly #knowsSince: RestartGuardOptions["knowsSince"];
  readonly #report: (promise: string, message: string) => void;
  readonly #sent: { uid: string; value: string; write: ServiceWrite }[] = [];
  /** Computes as they were when a person took a mark away, by uid, and when: its restart may be on its way. */
  readonly #unmarked = new Map<string, { compute: KubeObject; at: number }>();
  /** When each value was first asked for. */
  #asked: { uid: string; value: string; at: number }[] = [];

  constructor(
    { clock, services, knowsSince }: RestartGuardOptions,
    report: (promise: string, message: string) => void,
  ) {
    this.#clock = clock;
    this.#services = services;
    this.#knowsSince = knowsSince;
    this.#report = report;
  }

  /** A Compute changed, by whomever. */
  computeChanged(before: KubeObject | undefined, after: KubeObject, byOperator: boolean): void {
    const { uid } = after.metadata;
    // Another mark is that of the next restart.
    if (markedValue(after) !== undefined) this.#unmarked.delete(uid);
    else if (before !== undefined && markedValue(before) !== undefined && !byOperator)
      this.#unmarked.set(uid, { compute: before, at: this.#clock.monotonic() });
    const value = annotationOf(after, "restartedAt");
    if (value === undefined || (before !== undefined && annotationOf(before, "restartedAt") === value)) return;
    if (this.#asked.some((one) => one.uid === uid && one.value === value)) return;
    this.#asked.push({ uid, value, at: this.#clock.monotonic() });
  }

  /** A restart leaves; `claimants` are the Computes whose endpoint it could be. */
  sent(write: ServiceWrite, claimants: readonly KubeObject[]): void {
    // Who only wants to adopt it restarts nothing yet.
    const linked = claimants.filter((compute) => linkedID(compute) === write.target?.id);
    const owners = linked.length > 0 ? linked : claimants;
    const unmarked = [...this.#unmarked.values()]
      .filter(({ compute, at }) => linkedID(compute) === write.target?.id && at > write.sentAt - onTheWayMs)
      .map(({ compute }) => compute);
    const marked = [...owners.filter((compute) => markedValue(compute) !== undefined), ...unmarked];
    // Of one that is gone, and another that has its endpoint now, the restart is the other's.
    const standing = marked.filter(({ metadata }) => write.computes.some((one) => one.metadata.uid === metadata.uid));
    for (const compute of [standing, marked, owners].find((ones) => ones.length > 0) ?? []) {
      const value = markedValue(compute) ?? annotationOf(compute, "restartedAt");
      if (value !== undefined) this.#count(write, compute, value);
    }
  }

  /** An operator that knows of a restart reports it, at the latest when the service is done with it. */
  clusterWritten({ process, resource, before, after }: ClusterWrite): void {
    if (resource !== "computes" || before === undefined || after === undefined) return;
    if (JSON.stringify(statusOf(before)) === JSON.stringify(statusOf(after))) return;
    this.#checkDone(before, after);
    const asked = annotationOf(after, "restartedAt");
    if (asked === undefined || statusOf(after)["restartedAt"] === asked) return;
    if (conditionOf(after, "Ready")?.reason !== "Restarting" || isUnderWay(after)) return;
    const { uid, name } = after.metadata;
    if (this.#answered(process, uid, asked)) {
      this.#report("restart once", `${process} does not remember that ${name} was restarted for ${asked}`);
    }
  }

  /** Drops restarts that were sent before that. */
  forget(before: number): void {
    const kept = this.#sent.filter(({ write }) => write.sentAt >= before);
    this.#sent.splice(0, this.#sent.length, ...kept);
    this.#asked = this.#asked.filter(({ at }) => at >= before);
    for (const [uid, { at }] of this.#unmarked) if (at < before) this.#unmarked.delete(uid);
  }

  /**
   * What a Compute newly says was restarted was started after that was asked for: it need not have been our request.
   */
  #checkDone(before: KubeObject, after: KubeObject): void {
    const { uid, name } = after.metadata;
    const { restartedAt, endpointID } = statusOf(after);
    const asked = this.#asked.find((one) => one.uid === uid && one.value === restartedAt);
    // A value that is there at the first reconcile requests nothing.
    const first = Number(statusOf(before)["observedGeneration"] ?? -1) < 0;
    if (asked === undefined || first || statusOf(before)["restartedAt"] === restartedAt) return;
    const carriedOut = this.#sent.some(
      ({ write, ...one }) => one.uid === uid && one.value === restartedAt && write.carriedOut?.status === 200,
    );
    // Without a reply, a start since the list that it was sent from counts as this one: rule 9.
    if (carriedOut || this.#services.startsAfresh(String(endpointID), asked.at - lastListMs)) return;
    this.#report("restarted as it says", `${name} says that it was restarted for ${asked.value}, and was not`);
  }

  #count(write: ServiceWrite, { metadata: { uid, name } }: KubeObject, value: string): void {
    const now = write.computes.find((compute) => compute.metadata.uid === uid);
    if (this.#answered(write.process, uid, value) || (now && statusOf(now)["restartedAt"] === value)) {
      this.#report("restart once", `${name} was restarted again for ${value}, though the first was answered`);
    }
    this.#sent.push({ uid, value, write });
  }

  #answered(process: string, uid: string, value: string): boolean {
    return this.#sent.some(({ write, ...one }) => {
      const known = write.process === process && write.sentAt >= this.#knowsSince(process) && wasAnswered(write);
      return known && one.uid === uid && one.value === value;
    });
  }
}

function isUnderWay(compute: KubeObject): boolean {
  const { operations, pendingState, currentState } = statusOf(compute);
  const running = (Array.isArray(operations) ? operations : []).some(
    (operation) => isJsonObject(operation) && operation["status"] !== "finished",
  );
  return running || pendingState !== undefined || currentState === "init";
}

function wasAnswered({ heard, carriedOut }: ServiceWrite): boolean {
  return heard !== undefined && carriedOut?.status === 200;
}

/** The value that a recorded restart is sent for: a person may have asked for another meanwhile. */
function markedValue(compute: KubeObject): string | undefined {
  const { operation, value } = recordOf(compute) ?? {};
  return operation === "restart" && typeof value === "string" ? value : undefined;
}
