import type { WatchLine } from "../../../src/operator/kube/transport.ts";
import type { Cancel, Clock } from "../../../src/operator/runtime/clock.ts";
import { isJsonObject } from "./objects.ts";

type End = { kind: "closed" } | { kind: "failed"; error: unknown };

/** Lines that have arrived and lines still on their way, read one by one. Between the two lies the network. */
export class WatchStream implements AsyncIterator<WatchLine> {
  readonly #clock: Clock;
  readonly #idleTimeoutMs: number;
  readonly #onEnd: () => void;
  readonly #arrived: WatchLine[] = [];
  /** When the last line that is on its way arrives: no line overtakes another. */
  #lastDue = 0;
  readonly #onTheWay: (() => void)[] = [];
  #end: End | undefined;
  #waiting: { resolve: (result: IteratorResult<WatchLine>) => void; reject: (error: unknown) => void } | undefined;
  #cancelIdle: Cancel;

  constructor(options: { clock: Clock; idleTimeoutMs: number; onEnd: () => void }) {
    this.#clock = options.clock;
    this.#idleTimeoutMs = options.idleTimeoutMs;
    this.#onEnd = options.onEnd;
    this.#cancelIdle = this.#armIdle();
  }

  /** Sends a line on its way; `merge` lets it replace an earlier change of the same object that nobody has read. */
  send(line: WatchLine, delayMs: number, merge: boolean): void {
    this.#inOrder(delayMs, () => this.#arrive(line, merge));
  }

  /** Ends in order, behind the lines on their way. */
  close(): void {
    this.#inOrder(0, () => this.#finish({ kind: "closed" }));
  }

  /** Breaks off at once: lines on their way are lost. */
  fail(error: unknown): void {
    this.#arrived.length = 0;
    this.#finish({ kind: "failed", error });
  }

  next(): Promise<IteratorResult<WatchLine>> {
    const line = this.#arrived.shift();
    if (line) return Promise.resolve({ done: false, value: line });
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      if (this.#end) this.#settle(this.#end);
    });
  }

  return(): Promise<IteratorResult<WatchLine>> {
    this.#finish({ kind: "closed" });
    return Promise.resolve({ done: true, value: undefined });
  }

  #inOrder(delayMs: number, task: () => void): void {
    const now = this.#clock.monotonic();
    const due = Math.max(now + delayMs, this.#lastDue);
    this.#lastDue = due;
    this.#onTheWay.push(task);
    // Of two that are due together the timers may ring in either order: each lets the first of those on the way in.
    if (due <= now && this.#onTheWay.length === 1) this.#letIn();
    else this.#clock.after(due - now, () => this.#letIn());
  }

  #letIn(): void {
    this.#onTheWay.shift()?.();
  }

  #arrive(line: WatchLine, merge: boolean): void {
    if (this.#end) return;
    this.#cancelIdle();
    this.#cancelIdle = this.#armIdle();
    const last = this.#arrived.at(-1);
    if (merge && last && isChangeOfSame(last, line)) {
      this.#arrived[this.#arrived.length - 1] = { type: last.type, object: line.object };
    } else {
      this.#arrived.push(line);
    }
    const waiting = this.#waiting;
    const first = waiting ? this.#arrived.shift() : undefined;
    if (!waiting || !first) return;
    this.#waiting = undefined;
    waiting.resolve({ done: false, value: first });
  }

  #armIdle(): Cancel {
    return this.#clock.after(this.#idleTimeoutMs, () =>
      this.fail(new Error(`no line came for ${this.#idleTimeoutMs} ms`)),
    );
  }

  #finish(end: End): void {
    if (this.#end) return;
    this.#end = end;
    this.#cancelIdle();
    this.#onEnd();
    if (this.#waiting) this.#settle(end);
  }

  #settle(end: End): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (end.kind === "closed") waiting?.resolve({ done: true, value: undefined });
    else waiting?.reject(end.error);
  }
}

function isChangeOfSame(earlier: WatchLine, later: WatchLine): boolean {
  const changes = later.type === "MODIFIED" && (earlier.type === "MODIFIED" || earlier.type === "ADDED");
  return changes && uidOf(earlier.object) !== undefined && uidOf(earlier.object) === uidOf(later.object);
}

function uidOf(object: unknown): unknown {
  return isJsonObject(object) && isJsonObject(object["metadata"]) ? object["metadata"]["uid"] : undefined;
}
