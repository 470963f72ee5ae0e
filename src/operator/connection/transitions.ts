import type { RecordEvent } from "../kube/event-record.ts";
import { conditionOf } from "../objects/conditions-of.ts";
import { type Connection, kindOf } from "../resources/cluster-service-connection.ts";
import type { ServiceConnectionStatus } from "../resources/service-connection.ts";
import type { Logger } from "../runtime/log.ts";
import { unanswered } from "./messages.ts";

/**
 * Reports once that a connection becomes unusable or usable: a log line and an event on the connection, whatever its
 * number of Computes. After a restart the log repeats a problem; events do not, because the status records the reason.
 */
export class Transitions {
  readonly #log: Logger;
  readonly #event: RecordEvent;
  /** The reasons last reported, by uid of the connection. */
  readonly #logged = new Map<string, string>();
  readonly #recorded = new Map<string, string>();

  constructor(log: Logger, event: RecordEvent) {
    this.#log = log;
    this.#event = event;
  }

  /** Records what an earlier process has reported, before this one writes the status. */
  begin({ metadata: { uid }, status }: Connection): void {
    if (this.#recorded.has(uid)) return;
    const ready = conditionOf(status, "Ready");
    this.#recorded.set(uid, ready === undefined || ready.message === unanswered ? usable : ready.reason);
  }

  report(connection: Connection, status: ServiceConnectionStatus): void {
    const ready = conditionOf(status, "Ready");
    if (ready === undefined) return;
    const { uid, name, namespace } = connection.metadata;
    const { reason, message } = ready;
    if (reason !== (this.#logged.get(uid) ?? usable)) {
      this.#logged.set(uid, reason);
      this.#log[reason === usable ? "info" : "warn"]({ namespace, connection: name, reason }, message);
    }
    if (reason === (this.#recorded.get(uid) ?? usable)) return;
    this.#recorded.set(uid, reason);
    // A deletion that waits for the user has its own event.
    if (reason === "Deleting") return;
    this.#event(kindOf(connection), connection, { type: reason === usable ? "Normal" : "Warning", reason, message });
  }

  forget(uid: string): void {
    this.#logged.delete(uid);
    this.#recorded.delete(uid);
  }
}

const usable = "Authenticated";
