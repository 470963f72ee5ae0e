import type { RecordEvent } from "../kube/event-record.ts";
import { conditionOf } from "../resources/conditions-of.ts";
import {
  type ServiceConnection,
  type ServiceConnectionStatus,
  serviceConnectionKind,
} from "../resources/service-connection.ts";
import type { Logger } from "../runtime/log.ts";
import { unanswered } from "./messages.ts";

/**
 * Reports, once, that a connection cannot be used any more or can be used again: a line in the log and an event on the
 * connection, however many Computes it has. The log repeats trouble after a restart; events go by the status, which
 * outlives the process.
 */
export class Transitions {
  readonly #log: Logger;
  readonly #event: RecordEvent;
  /** The reasons that the log and the events last reported, by uid. */
  readonly #logged = new Map<string, string>();
  readonly #told = new Map<string, string>();

  constructor(log: Logger, event: RecordEvent) {
    this.#log = log;
    this.#event = event;
  }

  /** Notes what an earlier process has reported, before this one writes the status. */
  begin({ metadata: { uid }, status }: ServiceConnection): void {
    if (this.#told.has(uid)) return;
    const ready = conditionOf(status, "Ready");
    this.#told.set(uid, ready === undefined || ready.message === unanswered ? well : ready.reason);
  }

  report(connection: ServiceConnection, status: ServiceConnectionStatus): void {
    const ready = conditionOf(status, "Ready");
    if (ready === undefined) return;
    const { uid, name, namespace } = connection.metadata;
    const { reason, message } = ready;
    if (reason !== (this.#logged.get(uid) ?? well)) {
      this.#logged.set(uid, reason);
      this.#log[reason === well ? "info" : "warn"]({ namespace, connection: name, reason }, message);
    }
    if (reason === (this.#told.get(uid) ?? well)) return;
    this.#told.set(uid, reason);
    // A deletion that waits for a person has an event of its own.
    if (reason === "Deleting") return;
    this.#event(serviceConnectionKind, connection, { type: reason === well ? "Normal" : "Warning", reason, message });
  }

  forget(uid: string): void {
    this.#logged.delete(uid);
    this.#told.delete(uid);
  }
}

const well = "Authenticated";
