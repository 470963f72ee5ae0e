import { labelSelector } from "../../../src/operator/resources/selector.ts";
import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { KubeObject } from "../api-server/objects.ts";
import type { ClusterWrite, ServiceWrite } from "./records.ts";
import { goodFaithMs, type Register } from "./register.ts";

/** How long a Compute that changes its shard is left to the one before, in milliseconds. */
const handOverMs = 60_000;
/** A process that ran so long has surely seen a Compute that stood so long. */
const surelySeenMs = 90_000;

interface Shard {
  since: number;
  selects: (labels: Readonly<Record<string, string>> | undefined) => boolean;
}

/** Where two operators divide the Computes, each leaves the other's alone, and a newcomer for a minute. */
export class ShardGuard {
  readonly #clock: Clock;
  readonly #register: Register;
  readonly #report: (promise: string, message: string) => void;
  readonly #shards = new Map<string, Shard>();

  constructor(
    { clock, register }: { clock: Clock; register: Register },
    report: (promise: string, message: string) => void,
  ) {
    this.#clock = clock;
    this.#register = register;
    this.#report = report;
  }

  /** A process began to take care of what this selector selects. */
  started(process: string, selector: string): void {
    this.#shards.set(process, { since: this.#clock.monotonic(), selects: labelSelector(selector) });
  }

  /** A write leaves for the service, for one of these. */
  sent({ process, kind, endpointID }: ServiceWrite, claimants: readonly KubeObject[]): void {
    if (!this.#shards.has(process) || claimants.length === 0) return;
    const wrong = claimants.map((compute) => this.#wrongIn(process, compute));
    const [first] = wrong;
    if (wrong.every((each) => each !== undefined))
      this.#report("shards", `${process} ${first}: ${kind} of ${endpointID}`);
  }

  clusterWritten({ process, resource, before, after }: ClusterWrite): void {
    if (resource !== "computes" || before === undefined || after === undefined || !this.#shards.has(process)) return;
    // A pool's own operator changes the pool's members, whichever shard reconciles them.
    if (JSON.stringify(before["spec"]) !== JSON.stringify(after["spec"])) return;
    const wrong = this.#wrongIn(process, after);
    if (wrong !== undefined) this.#report("shards", `${process} ${wrong}`);
  }

  /** What is wrong with a process writing for a Compute; nothing where it may. */
  #wrongIn(process: string, { metadata: { uid, name } }: KubeObject): string | undefined {
    const shard = this.#shards.get(process);
    const known = this.#register.get(uid);
    if (shard === undefined || known === undefined) return undefined;
    const { relabelled, relabelledBefore, since, compute } = known;
    const now = this.#clock.monotonic();
    const changedAt = relabelled?.at ?? since;
    if (!shard.selects(compute.metadata.labels)) {
      return now - changedAt > goodFaithMs ? `writes for ${name}, which is another's` : undefined;
    }
    const entered = relabelled !== undefined && !shard.selects(relabelled.before);
    // Back before the other may write for it: its absence may have gone unseen.
    const wasBriefly = relabelledBefore !== undefined && changedAt - relabelledBefore.at < handOverMs;
    if (wasBriefly && shard.selects(relabelledBefore.before)) return undefined;
    const surelySeen = changedAt - Math.max(shard.since, since) > surelySeenMs;
    return entered && surelySeen && now - changedAt < handOverMs ? `writes too early for ${name}` : undefined;
  }
}
