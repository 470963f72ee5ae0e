import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";

/** One request by which an operator meant to change the service, and what became of it. */
export interface ServiceWrite {
  /** Counts up over the run. */
  number: number;
  process: string;
  kind: "create" | "patch" | "delete" | "restart";
  /** The base URL that it was sent to. */
  service: string;
  project: string;
  /** Absent for a create until it is carried out. */
  endpointID: string | undefined;
  body: unknown;
  sentAt: number;
  /** All Computes of the cluster at the moment it was sent. */
  computes: readonly KubeObject[];
  /** The endpoint as it stood then; absent for a create. */
  target: StoredEndpoint | undefined;
  /** When it reaches the service; absent if it never does. */
  arrivesAt?: number;
  /** Whether it was held up longer than `--create-settle`, which no operator can guard against. */
  beyondSettle: boolean;
  /** When it was carried out, and how the service answered. */
  carriedOut: { at: number; status: number } | undefined;
  /** The status of the service's own answer, where the operator heard that. */
  heard: number | undefined;
  /** When the operator heard of it, or gave up. */
  endedAt: number | undefined;
}

/** The name that a create gives its endpoint. */
export function markOf({ body }: Pick<ServiceWrite, "body">): string | undefined {
  const endpoint = isJsonObject(body) ? body["endpoint"] : undefined;
  const name = isJsonObject(endpoint) ? endpoint["name"] : undefined;
  return typeof name === "string" ? name : undefined;
}

/**
 * Whether the endpoint comes from a POST without a reply, and a later POST of the same Compute was answered: where no
 * names are shown, a primary that appears after the loss of the recorded one is another's.
 */
export function cameAfterAnother(writes: readonly ServiceWrite[], endpointID: string | undefined): boolean {
  if (endpointID === undefined) return false;
  const write = writes.find((one) => one.kind === "create" && one.endpointID === endpointID);
  if (write === undefined || write.heard !== undefined) return false;
  return writes.some((later) => later.number > write.number && later.heard === 201 && markOf(later) === markOf(write));
}

export function wasMadeTooLate({ kind, beyondSettle, carriedOut }: ServiceWrite): boolean {
  return kind === "create" && beyondSettle && carriedOut?.status === 201;
}

/** The branch that a PATCH moved its endpoint to. */
export function movedTo({ kind, body, carriedOut }: ServiceWrite): unknown {
  if (kind !== "patch" || carriedOut?.status !== 200) return undefined;
  const endpoint = isJsonObject(body) ? body["endpoint"] : undefined;
  return isJsonObject(endpoint) ? endpoint["branch_id"] : undefined;
}

/** One change of the cluster by an operator. */
export interface ClusterWrite {
  process: string;
  at: number;
  resource: string;
  before: KubeObject | undefined;
  after: KubeObject | undefined;
}

/** A promise that was broken: ends the run. */
export interface Violation {
  /** Which promise, e.g. `never twice`. */
  promise: string;
  message: string;
  atMs: number;
}
