// What a world of the model consists of.

import type { Disruption } from "../../src/operator/resources/schedule.ts";
import type { Service, Standing, Write } from "./service.ts";

/** The Compute as the API server stores it. */
export interface Kube {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    generation: number;
    creationTimestamp: string;
    annotations?: Record<string, string>;
    labels?: Record<string, string>;
    finalizers?: string[];
    deletionTimestamp?: string;
  };
  spec: {
    projectID: string;
    branchID: string;
    type: string;
    connectionRef: { name: string };
    disabled?: boolean;
    deletionPolicy?: string;
    adopt?: unknown;
    computeUnits?: { min: number; max: number };
    postgresSettings?: Record<string, string>;
    passwordlessAccess?: boolean;
    driftPolicy?: string;
    managementPolicy?: string;
    schedule?: { name: string; computeUnits: { min: number; max: number } }[];
    disruption?: Disruption | undefined;
  };
  status: Record<string, unknown> & {
    conditions?: { type: string; reason: string; status: string }[];
    schedule?: { active: string; until?: string };
    appliedEntry?: string;
    waiting?: { field: string }[];
    nextWindow?: string;
  };
}

export const ourUID = "00000000-0000-4000-8000-00000000000a";

/** What may still happen how often, and what the judge has to know of what happened. */
export interface Facts {
  left: Partial<Record<string, number>>;
  /** A promise that was broken in passing. */
  bad?: string;
  /** A loss that nobody promises to prevent. */
  isExcused?: true;
  /** The object went while `deletionPolicy` was Retain. */
  isRetained?: true;
  /** How many restarts had no answer, and how many were asked for. */
  unanswered?: number;
  asked?: number;
  /** Somebody moved or deleted an endpoint at the service. */
  isMeddledWith?: true;
  /** The entry of the schedule that the service was last brought to; empty: none. */
  broughtTo?: string;
  /** Somebody resized the endpoint while the service was not in the entry in force, or no status said so. */
  isBlurred?: true;
  /** The entry whose size the list of the last reconcile showed. */
  shownEntry?: string;
}

/** A stretch of the wall clock in which no entry and no window begins or ends. */
export interface Phase {
  /** Its beginning, by the service's clock. */
  at: string;
  /** The entry of the schedule in force, by its place in the spec; absent: none. */
  entry?: number;
  /** The windows are open. */
  isOpen: boolean;
}

/** A world to search, small enough to be searched whole. Times in instants of 10 s. */
export interface Configuration {
  name: string;
  type: "read_write" | "read_only";
  /** `--create-settle`, and how long a write to the service may be on its way. */
  settleInstants: number;
  /** How long lists may lag. */
  lagInstants: number;
  /** How long a process may stall between two requests of a reconcile. */
  stallInstants: number;
  /** So far back a process tells times apart. */
  memoryInstants?: number;
  /** What may happen, and how often; `post` counts the POSTs. */
  may: Partial<Record<string, number>>;
  /** Reconciles may use a list from before once more. */
  held: boolean;
  /** Reconciles may have no list. */
  listless: boolean;
  /** Processes that reconcile different shards. */
  shards: number;
  fleet: string | undefined;
  showsNames: boolean;
  adopt?: unknown;
  /** The number of the endpoint that `adopt` takes over. */
  adopted?: number;
  endpoints: Standing[];
  forbids: (write: Write, before: Service, object: Kube | undefined, facts: Facts) => string | undefined;
  /** At rest no record may be left. */
  isRecordless: boolean;
  /** The wall clock, of which a world lives through one phase after another. */
  phases: readonly Phase[];
  /** Nothing happens and nothing goes wrong before the endpoint is made and shown. */
  startsMade: boolean;
  /** More of the first spec. */
  spec: Partial<Kube["spec"]>;
  /** The connection's default of `disruption`. */
  ofConnection?: Disruption;
  /** The value that a person gives the annotation `disruptionUntil`. */
  allowedUntil?: string;
  /** What is left of a write that is not over. */
  recordOf: (object: Kube) => unknown;
}
