import { clippedMessage, timestamp } from "../objects/conditions-of.ts";
import { builtInKind } from "../objects/object.ts";
import { guardedPatch, type JsonPatchOperation } from "./json-patch.ts";
import type { Draft, KubeObject, ResourceKind } from "./objects.ts";

/** An occurrence on an object, for `kubectl describe`. */
export interface EventInput {
  type: "Normal" | "Warning";
  /** CamelCase, one of the documented reasons. */
  reason: string;
  /** For a person; truncated to 1 KiB. */
  message: string;
}

/** The body of a new Event. */
export type RecordEvent = <T extends KubeObject>(kind: ResourceKind<T>, object: T, note: EventInput) => void;

/** The object that an event is about. */
export type EventSubject = Pick<KubeObject, "apiVersion" | "kind"> & {
  metadata: Pick<KubeObject["metadata"], "name" | "namespace" | "uid" | "resourceVersion">;
};

/** An Event of the core group. */
export interface KubeEvent extends KubeObject {
  involvedObject: Partial<Pick<KubeObject, "apiVersion" | "kind"> & EventSubject["metadata"]>;
  type?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
  source?: { component?: string | undefined } | undefined;
  reportingComponent?: string | undefined;
  firstTimestamp?: string | undefined;
  lastTimestamp?: string | undefined;
  count?: number | undefined;
}

export const events = builtInKind<KubeEvent>("Event", "events");

/**
 * `suffix` makes the name unique among the events of this object. Events about cluster-scoped objects live in
 * `default`.
 */
export function newEvent(
  subject: EventSubject,
  input: EventInput,
  about: { component: string; at: number; count: number; suffix: string },
): Draft<KubeEvent> {
  const { name, namespace, uid, resourceVersion } = subject.metadata;
  const { apiVersion, kind } = subject;
  const time = timestamp(about.at);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name.slice(0, 200)}.${about.suffix}`, namespace: namespace ?? "default" },
    involvedObject: { apiVersion, kind, name, namespace, uid, resourceVersion },
    type: input.type,
    reason: input.reason,
    message: clippedMessage(input.message),
    source: { component: about.component },
    reportingComponent: about.component,
    firstTimestamp: time,
    lastTimestamp: time,
    count: about.count,
  };
}

/** The part of an Event that is remembered to count further occurrences. */
export type WrittenEvent = Pick<KubeEvent, "count"> & {
  metadata: Pick<KubeEvent["metadata"], "name" | "namespace" | "uid" | "resourceVersion">;
};

/** The patch that counts `times` more occurrences of an Event, the last at `at`. */
export function occurredAgain(event: WrittenEvent, times: number, at: number): JsonPatchOperation[] {
  return guardedPatch(event)
    .set(["count"], (event.count ?? 1) + times)
    .set(["lastTimestamp"], timestamp(at))
    .ops();
}
