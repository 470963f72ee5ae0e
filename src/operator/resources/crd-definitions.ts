import type { z } from "zod";
import type { ResourceKind } from "../objects/object.ts";
import { branchKind, branchSpec, branchStatus } from "./branch.ts";
import { clusterServiceConnectionKind, clusterServiceConnectionSpec } from "./cluster-service-connection.ts";
import { computeKind } from "./compute.ts";
import { computePoolKind, computePoolSpec, computePoolStatus } from "./compute-pool.ts";
import { computeSpec } from "./compute-spec.ts";
import { computeStatus } from "./compute-status.ts";
import { serviceConnectionKind, serviceConnectionSpec, serviceConnectionStatus } from "./service-connection.ts";

/** A column of `kubectl get`; `wide` ones show with `-o wide` only. */
interface Column {
  readonly name: string;
  readonly type: "string" | "date" | "integer";
  readonly jsonPath: string;
  readonly description: string;
  readonly wide?: true;
}

/** The parts of a CustomResourceDefinition besides its schemas. */
export interface Definition {
  readonly kind: ResourceKind;
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  readonly shortNames?: readonly string[];
  readonly columns: readonly Column[];
  readonly scale?: { readonly [path: string]: string };
  /** CEL rules on the whole object, `metadata.name` included. */
  readonly rules?: readonly { readonly rule: string; readonly message: string }[];
}

/** The names that kubectl takes for the kind. */
export function namesOf({ kind: { kind, plural }, shortNames }: Definition) {
  return { plural, singular: kind.toLowerCase(), ...(shortNames ? { shortNames } : {}) };
}

function reasonOf(type: "Ready" | "Synced"): Column {
  const jsonPath = `.status.conditions[?(@.type=="${type}")].reason`;
  return { name: "Reason", type: "string", jsonPath, description: "Why it is ready or not." };
}
const READY: Column = {
  name: "Ready",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  description: "Whether everything is as declared.",
};
/** The branch by its name, or by its id where no name is known; `status.branchName` of a Branch means the same. */
const branchShown = (jsonPath: string): Column => ({
  name: "Branch",
  type: "string",
  jsonPath,
  description: "The branch, by its name at the service, or by its id where no name is known.",
});
/** The ids that only `-o wide` shows. */
const IDS: readonly Column[] = [
  {
    name: "Project",
    type: "string",
    jsonPath: ".spec.projectID",
    description: "The service's id of the project.",
    wide: true,
  },
  {
    name: "Branch-ID",
    type: "string",
    jsonPath: ".status.branchID",
    description: "The service's id of the branch.",
    wide: true,
  },
];
/** An object that has ended as declared has no condition Ready. */
const REASON = reasonOf("Synced");
const AGE: Column = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Since when the object exists.",
};

const CONNECTION_COLUMNS: readonly Column[] = [
  READY,
  reasonOf("Ready"),
  { name: "Key-Type", type: "string", jsonPath: ".status.keyType", description: "What kind of key it is." },
  { name: "Projects", type: "integer", jsonPath: ".status.projectCount", description: "Projects that it reaches." },
  AGE,
  { name: "Base-URL", type: "string", jsonPath: ".spec.baseURL", description: "Where the service is.", wide: true },
];

/** The operator's own kinds, as CRDs. */
export const definitions: readonly Definition[] = [
  {
    kind: computeKind,
    description: "A Compute is one compute (endpoint) of a Postgres-hosting service, kept as declared here.",
    spec: computeSpec,
    status: computeStatus,
    shortNames: ["cmp"],
    columns: [
      {
        name: "Type",
        type: "string",
        jsonPath: ".status.access",
        description: "rw for type read_write (the branch's primary), ro for read_only (a read replica).",
      },
      branchShown(".status.branch"),
      { name: "Size", type: "string", jsonPath: ".status.size", description: "Its size in compute units." },
      { name: "State", type: "string", jsonPath: ".status.state", description: "What it is doing." },
      READY,
      REASON,
      { name: "Last-Active", type: "date", jsonPath: ".status.lastActive", description: "When it was last active." },
      AGE,
      ...IDS,
      {
        name: "Endpoint",
        type: "string",
        jsonPath: ".status.endpointID",
        description: "The service's id of the endpoint.",
        wide: true,
      },
      { name: "Host", type: "string", jsonPath: ".status.host", description: "Host to connect to.", wide: true },
    ],
  },
  {
    kind: serviceConnectionKind,
    description:
      "A ServiceConnection says how a Postgres-hosting service is reached: base URL, API key and request budget.",
    spec: serviceConnectionSpec,
    status: serviceConnectionStatus,
    shortNames: ["sconn"],
    columns: CONNECTION_COLUMNS,
  },
  {
    kind: clusterServiceConnectionKind,
    description:
      "A ClusterServiceConnection says how many namespaces reach a Postgres-hosting service with one API key: which namespaces, and which projects.",
    spec: clusterServiceConnectionSpec,
    status: serviceConnectionStatus,
    shortNames: ["csconn"],
    columns: CONNECTION_COLUMNS,
  },
  {
    kind: computePoolKind,
    description: "A ComputePool keeps a number of equal read replicas on one branch.",
    spec: computePoolSpec,
    status: computePoolStatus,
    shortNames: ["cpool"],
    columns: [
      { name: "Desired", type: "integer", jsonPath: ".spec.replicas", description: "Replicas asked for." },
      { name: "Replicas", type: "integer", jsonPath: ".status.replicas", description: "Replicas that exist." },
      { name: "Ready", type: "integer", jsonPath: ".status.readyReplicas", description: "Replicas that are ready." },
      // Ready, or Expired in its place, is the first condition.
      { ...REASON, jsonPath: ".status.conditions[0].reason" },
      AGE,
      {
        name: "Branch",
        type: "string",
        // A part of a union may name a member of a member.
        jsonPath: ".spec.template['branchID','branchName','branchRef.name']",
        description: "The branch, by id, name or Branch.",
        wide: true,
      },
    ],
    scale: {
      specReplicasPath: ".spec.replicas",
      statusReplicasPath: ".status.replicas",
      labelSelectorPath: ".status.selector",
    },
    rules: [
      {
        rule: "self.metadata.name.size() <= 57",
        message: "a ComputePool's name takes at most 57 characters, because its Computes carry it in a label",
      },
    ],
  },
  {
    kind: branchKind,
    description:
      "A Branch is one branch of a Postgres-hosting service, a database with a lifetime, kept as declared here.",
    spec: branchSpec,
    status: branchStatus,
    shortNames: ["brn"],
    columns: [
      branchShown(".status.branchName"),
      { name: "State", type: "string", jsonPath: ".status.state", description: "What it is doing." },
      READY,
      REASON,
      // A date column shows a time to come as invalid.
      { name: "Expires", type: "string", jsonPath: ".status.expiresAt", description: "When the service deletes it." },
      AGE,
      ...IDS,
    ],
    rules: [
      {
        rule: "has(self.spec.branchName) || self.metadata.name.size() <= 192",
        message:
          "a Branch without spec.branchName has a name of at most 192 characters, because NAMESPACE/NAME is its name at the service",
      },
    ],
  },
];
