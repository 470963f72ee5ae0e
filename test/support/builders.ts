import type { Endpoint } from "../../src/api/endpoint.ts";
import type { Operation } from "../../src/api/operation.ts";
import { ClaimIndex } from "../../src/operator/claims/claim-index.ts";
import type { Claimants } from "../../src/operator/claims/claims.ts";
import { EndpointIndex, ownershipOf } from "../../src/operator/claims/ownership.ts";
import type { ReadonlyState, RememberedWrite } from "../../src/operator/compute/memory.ts";
import { annotationsOf } from "../../src/operator/compute/observe/annotations.ts";
import type {
  EndpointSnapshot,
  Observation,
  Observed,
  Pending,
  Subject,
  Unavailable,
} from "../../src/operator/compute/observe/observation.ts";
import { isOutsider } from "../../src/operator/compute/observe/outsider.ts";
import { ReconcileState } from "../../src/operator/compute/reconcile-state.ts";
import {
  branchIDOf,
  type Compute,
  type ComputeStatus,
  parseCompute,
  type StatusProof,
  type WriteRecord,
} from "../../src/operator/resources/compute.ts";
import type { ConnectionUser } from "../../src/operator/resources/connection-user.ts";
import { annotations, finalizers } from "../../src/operator/resources/names.ts";
import { signatureOfUID } from "../../src/operator/resources/signature.ts";

/** A uid for a number or a letter: tests name Computes by one character. */
export function uidOf(character: string | number): string {
  const digit = typeof character === "number" ? character.toString(16) : character.charCodeAt(0).toString(16);
  return `00000000-0000-4000-8000-${digit.padStart(12, "0")}`;
}

export interface ComputeFields {
  name?: string;
  namespace?: string;
  uid?: string;
  generation?: number;
  resourceVersion?: string;
  /** RFC 3339. */
  created?: string;
  deleting?: boolean;
  /** `false`: without the operator's finalizer. */
  guarded?: boolean;
  /** By their short names, as the code has them. */
  annotations?: Partial<Record<keyof typeof annotations, string>>;
  labels?: Record<string, string>;
  spec?: Record<string, unknown>;
  status?: ComputeStatus;
  /** Linked to this endpoint, by annotation and status. */
  linked?: string;
  /** The reason that its conditions show. */
  shows?: string;
}

const project = "shiny-wind-028834";
const branch = "br-main";
const service = "https://service/api/v2";

/** A Compute as the cache holds it: the branch's primary, without wishes, until a test says more. */
export function compute(fields: ComputeFields = {}): Compute {
  const { name = "shop", linked, shows, generation = 1, guarded = true, deleting = false } = fields;
  const noted: Record<string, string> = {};
  if (linked !== undefined) noted[annotations.endpointID] = linked;
  const given: Readonly<Record<string, string | undefined>> = fields.annotations ?? {};
  for (const [short, key] of Object.entries(annotations)) if (given[short] !== undefined) noted[key] = given[short];
  const parsed = parseCompute({
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "Compute",
    metadata: {
      name,
      namespace: fields.namespace ?? "team",
      uid: fields.uid ?? uidOf("a"),
      resourceVersion: fields.resourceVersion ?? "1",
      generation,
      creationTimestamp: fields.created ?? "2026-01-01T00:00:00Z",
      annotations: noted,
      ...(fields.labels === undefined ? {} : { labels: fields.labels }),
      finalizers: guarded ? [finalizers.endpoint] : [],
      ...(deleting ? { deletionTimestamp: "2026-01-02T00:00:00Z" } : {}),
    },
    spec: { projectID: project, branchID: branch, ...fields.spec },
    status: {
      observedGeneration: generation,
      appliedGeneration: generation,
      observedThrough: "here",
      ...(linked === undefined ? {} : { endpointID: linked, branchID: branch }),
      ...(shows === undefined ? {} : { conditions: [condition(shows)] }),
      ...fields.status,
    },
  });
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

function condition(reason: string) {
  return { type: "Ready", status: "False", reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
}

/** A running primary that nobody signed, until a test says more. */
export function endpoint(fields: Partial<Endpoint> = {}): Endpoint {
  return {
    id: "ep-one",
    project_id: project,
    branch_id: branch,
    type: "read_write",
    current_state: "active",
    created_at: "2026-01-01T00:00:00Z",
    ...fields,
  };
}

/** The endpoint that this Compute made, by its signature. */
export function madeBy(maker: Compute, fields: Partial<Endpoint> = {}): Endpoint {
  const { metadata, spec } = maker;
  return endpoint({ name: signatureOfUID(metadata.uid), branch_id: branchIDOf(maker), type: spec.type, ...fields });
}

export function operation(fields: Partial<Operation> = {}): Operation {
  return {
    id: "op-1",
    action: "apply_config",
    status: "running",
    endpoint_id: "ep-one",
    project_id: project,
    created_at: "2026-01-01T00:00:00Z",
    ...fields,
  };
}

/** A record of a write of an earlier term, by default of a create. */
export function recordOf(fields: Partial<WriteRecord> = {}): WriteRecord {
  return {
    uid: uidOf("a"),
    n: 1,
    by: "an-earlier-term",
    operation: "create",
    since: "2026-01-01T00:00:00Z",
    branchID: branch,
    through: service,
    ...fields,
  };
}

/** What this term remembers of a record that has been open since then. */
export function openSince(openedAt: number, fields: Partial<WriteRecord> = {}, made?: string): RememberedWrite {
  const write = { record: recordOf(fields), phase: "open", openedAt, firstShown: new Map<string, number>() } as const;
  return made === undefined ? write : { ...write, made };
}

/** What a status notes of an endpoint that is a Compute's own. */
export function proofFor(endpointID: string, by = "created", uid = uidOf("a")): StatusProof {
  return { uid, endpointID, by };
}

/** Monotonic time at which tests look, in milliseconds. */
export const now = 1_000_000;

export interface InputFields {
  compute?: Compute;
  endpoints?: readonly Endpoint[];
  /** Other Computes of the cluster. */
  others?: readonly Compute[];
  /** Connections by `namespace/name` that lead to another base URL than `https://service/api/v2`. */
  elsewhere?: Record<string, string>;
  state?: Partial<ReadonlyState>;
  list?: Partial<Omit<EndpointSnapshot, "endpoints" | "links">>;
  observation?: Omit<Pending, keyof Subject> | Omit<Unavailable, keyof Subject>;
  now?: number;
  /** As in a signature. */
  fleet?: string | undefined;
}

/** All that a plan is made from; by default a list just begun, in which everything is in order. */
export function input(fields: InputFields = {}): [observed: Observed, state: ReadonlyState] {
  const self = fields.compute ?? compute();
  const state = new ReconcileState(0, "this-term", fields.state).known;
  if (fields.observation !== undefined) return [{ ...subjectOf(self, fields), ...fields.observation }, state];
  return [observedBy(self, fields.endpoints ?? [], fields.list, fields), state];
}

/** The Compute as a list with these endpoints shows it. */
export function observedBy(
  self: Compute,
  endpoints: readonly Endpoint[],
  list: InputFields["list"] = {},
  fields: Pick<InputFields, "others" | "elsewhere" | "now" | "fleet"> = {},
): Observation {
  return { ...subjectOf(self, fields), ...listOf(self, endpoints, list), kind: "observed" };
}

export function subjectOf(
  self: Compute,
  fields: Pick<InputFields, "others" | "elsewhere" | "now" | "fleet"> = {},
): Subject {
  const claimants = claimantsAmong(self, fields.others ?? [], fields.elsewhere);
  const parsed = annotationsOf(self, 0);
  return {
    compute: self,
    annotations: parsed,
    claimants,
    now: fields.now ?? now,
    serviceNow: fields.now ?? now,
    createSettleMs: 60_000,
    fleet: fields.fleet,
  };
}

export function listOf(
  self: Compute,
  endpoints: readonly Endpoint[],
  fields: InputFields["list"] = {},
): EndpointSnapshot {
  const index = new EndpointIndex(endpoints);
  return {
    endpoints: index,
    startedAt: now - 100,
    links: ownershipOf(self, index),
    operations: [],
    notListed: { missing: 0, known: 0 },
    fingerprint: "here",
    baseURL: service,
    terminating: false,
    ...fields,
  };
}

export function claimantsAmong(
  self: Compute,
  others: readonly Compute[],
  elsewhere: Record<string, string> = {},
): Claimants {
  const baseURLOf = ({ metadata, spec }: ConnectionUser) =>
    elsewhere[`${metadata.namespace}/${spec.connectionRef.name}`] ?? "https://service/api/v2";
  const connections = { baseURLOf, isUnreachable: () => false, reachedThrough: () => "here" };
  const claims = new ClaimIndex({ serviceOf: baseURLOf, isOutsider: (one) => isOutsider(one, connections) });
  for (const one of [self, ...others]) claims.set(one);
  return claims.claimantsOf(self);
}
