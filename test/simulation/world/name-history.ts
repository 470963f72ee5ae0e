import { isJsonObject } from "../api-server/objects.ts";
import { onTheWayMs } from "./register.ts";

/**
 * Which services have shown a process the name of an endpoint: until then, an endpoint without a name may be what any
 * create made.
 */
export class NameHistory {
  /** Since when, by process and service. */
  readonly #shownAt = new Map<string, Map<string, number>>();
  /** The marks of creates, by Compute, that were set by a process that had been shown names. */
  readonly #marks = new Map<string, unknown>();

  /** A process begins and knows nothing. */
  started(process: string): void {
    this.#shownAt.delete(process);
  }

  /** An answer of a service reached a process. */
  heard(process: string, service: string, body: unknown, now: number): void {
    const services = this.#shownAt.get(process) ?? new Map<string, number>();
    this.#shownAt.set(process, services);
    if (!services.has(service) && showsName(body)) services.set(service, now);
  }

  /** A process set the mark of a create. */
  marked(process: string, service: string, mark: { uid: string; since: unknown }, now: number): void {
    if (this.#knew(process, service, now)) this.#marks.set(mark.uid, mark.since);
  }

  /** Whether a process that links an endpoint now knows that the service shows names. */
  isKnown(process: string, service: string, mark: { uid: string; since: unknown }, now: number): boolean {
    const isNoted = mark.since !== undefined && this.#marks.get(mark.uid) === mark.since;
    return isNoted || this.#knew(process, service, now);
  }

  /** Whether a process had been shown names when it planned what arrives now. */
  #knew(process: string, service: string, now: number): boolean {
    return (this.#shownAt.get(process)?.get(service) ?? Number.POSITIVE_INFINITY) <= now - onTheWayMs;
  }
}

/** Whether an answer holds an endpoint with a name. */
function showsName(body: unknown): boolean {
  if (!isJsonObject(body)) return false;
  const { endpoint, endpoints } = body;
  const all = Array.isArray(endpoints) ? endpoints : [endpoint];
  return all.some((one) => isJsonObject(one) && typeof one["name"] === "string");
}
