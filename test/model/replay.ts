import type { ExecuteContext } from "../../src/operator/compute/execute/context.ts";
import { ClusterError, ClusterUnreachable, isNotFound, isStale } from "../../src/operator/kube/errors.ts";
import type { JsonPatchOperation } from "../../src/operator/kube/json-patch.ts";
import { trusted } from "./canonical.ts";
import type { Effect, Reply, Run, Version } from "./memory.ts";

/** The wall clock stands still: no rule of the create protocol reads it. */
const wallMs = Date.UTC(2026, 0, 1);

export type Ended = { kind: "over" } | { kind: "outdated" } | { kind: "waits"; effect: Effect };

/** Plays a reconcile with the answers that it has had, up to the first request without one. */
export class Replay {
  readonly #run: Run;
  readonly #onChanged: (to: Version, at: number) => void;
  #next = 0;
  #now: number;
  #ended: (ended: Ended) => void = () => {};
  /** The newest version that the process has seen. */
  stored: Version;
  readonly clock: ExecuteContext["clock"];

  constructor(run: Run, onChanged: (to: Version, at: number) => void) {
    this.#run = run;
    this.#now = run.at;
    this.stored = run.seen;
    this.#onChanged = onChanged;
    this.clock = trusted<ExecuteContext["clock"]>({ now: () => wallMs, monotonic: () => this.#now });
  }

  run(reconcile: () => Promise<void>): Promise<Ended> {
    return new Promise((resolve, reject) => {
      this.#ended = resolve;
      reconcile().then(
        () => resolve({ kind: "over" }),
        (error: unknown) => {
          if (isNotFound(error) || isStale(error)) resolve({ kind: "outdated" });
          else if (error instanceof ClusterError || error instanceof ClusterUnreachable) resolve({ kind: "over" });
          else reject(error);
        },
      );
    });
  }

  async patch(ops: JsonPatchOperation[], status: boolean, read: (object: Version) => unknown): Promise<unknown> {
    const reply = await this.#reply({ kind: "patch", ops, status });
    if (reply.kind === "object") return read(reply.object);
    if (reply.kind === "error") throw errors[reply.error]();
    throw new Error("not an answer of the API server");
  }

  async service(effect: Effect): Promise<unknown> {
    const reply = await this.#reply(effect);
    if (reply.kind !== "answer") throw new Error("not an answer of the service");
    return reply.answer;
  }

  #sees(version: Version): void {
    this.stored = version;
    this.#onChanged(version, this.#now);
  }

  #reply(effect: Effect): Promise<Reply> {
    for (;;) {
      const event = this.#run.since[this.#next];
      if (event === undefined) {
        this.#ended({ kind: "waits", effect });
        // The rest of this reconcile is played again once there is an answer.
        return new Promise(() => {});
      }
      this.#next += 1;
      this.#now = event.at;
      if (event.kind === "changed") this.#sees(event.to);
      else {
        // An answer of the API server enters the store before the caller has it.
        if (event.reply.kind === "object") this.#sees(event.reply.object);
        return Promise.resolve(event.reply);
      }
    }
  }
}

const errors = {
  stale: () => new ClusterError({ status: 422, reason: "Invalid", message: "the server rejected our request" }),
  gone: () => new ClusterError({ status: 404, reason: "NotFound", message: "not found" }),
  unreachable: () => new ClusterUnreachable("no answer"),
  refused: () => new ClusterError({ status: 403, reason: "Forbidden", message: "a policy forbids it" }),
};
