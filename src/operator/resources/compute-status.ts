import { z } from "zod";
import { conditions } from "../objects/conditions-of.ts";
import { observedGeneration, optionalFlag, optionalInteger, optionalNumber, optionalText } from "./fields.ts";

/**
 * The status schema holds no enum, pattern or bound: the service adds values without notice, and a status that the
 * API server refuses would be written again for ever.
 */

const range = z.object({
  min: optionalNumber("At the least size."),
  max: optionalNumber("At the largest size."),
});

/** One figure where the size is fixed, the figures at both ends where it is a range. */
const figure = z.union([z.number(), range]).meta({ "x-kubernetes-preserve-unknown-fields": true });

const capacity = z.object({
  vCPU: figure.optional().describe("Virtual CPUs: a number for a fixed size, min and max for a range."),
  memoryGB: figure.optional().describe("Memory in GB: a number for a fixed size, min and max for a range."),
  localFileCacheGB: figure
    .optional()
    .describe("Local file cache in GB, 80% of the memory: a number for a fixed size, min and max for a range."),
  maxConnections: optionalNumber("Postgres max_connections, which follows from both ends of the range."),
  pooledConnections: optionalNumber("Client connections that the pooler takes at once."),
  temporaryDiskGiB: optionalNumber("Local disk for temporary files, in GiB."),
});

const operation = z.object({
  id: z.string().describe("The service's id of the operation."),
  action: z.string().describe("The service's name for it, for example start_compute."),
  status: z
    .string()
    .describe(
      "Its status, for example scheduling, running, finished or failed; unknown where the service no longer reports it.",
    ),
  failuresCount: optionalNumber("How many attempts have failed."),
  createdAt: optionalText("When it was created (RFC 3339)."),
  updatedAt: optionalText("When the service last changed it (RFC 3339)."),
});

/**
 * The status of an operation whose end the service does not tell, while the endpoint shows that nothing is under way.
 */
export const unsupported = "unknown";

const drift = z.object({
  field: z.string().describe("Field of the spec, for example computeUnits."),
  ours: z.string().describe("What the spec says."),
  theirs: z.string().describe("What the service shows."),
});

const waitingChange = z.object({
  field: z.string().describe("Field of the spec, for example computeUnits.max."),
  ours: z.string().describe("The value that is to be sent."),
});

const proof = z.object({
  uid: z.string().describe("The Compute's uid."),
  endpointID: z.string().describe("The service's id of the endpoint."),
  by: z
    .string()
    .describe("signature: a list showed its name; created: it answered a create; adopted: spec.adopt named it."),
});

const pendingWrite = z.object({
  uid: z.string().describe("The Compute's uid."),
  n: z.int().describe("One more than in the record before."),
  by: z
    .string()
    .describe("The leadership term that wrote it; unknown where a record had to be made up for one that was lost."),
  operation: z.string().describe("create, takeover, move or restart."),
  since: z.string().describe("When it was written (RFC 3339)."),
  branchID: z.string().describe("The branch of the create, or the one that a move leaves."),
  to: optionalText("The branch that a move is to lead to."),
  endpointID: optionalText("The endpoint that is moved, restarted or taken over."),
  through: z.string().describe("The base URL that the request is sent to."),
  newest: optionalText("The latest created_at in the list that the request was planned from, by the service's clock."),
  value: optionalText("The value of restartedAt that a restart answers."),
  startedAt: optionalText("The endpoint's started_at before a restart (RFC 3339)."),
});

const secretStatus = z.object({
  namespace: optionalText("Its namespace."),
  name: optionalText("Its name."),
  uid: optionalText("Its uid."),
  role: optionalText("The role whose password it holds."),
  rotatedAt: optionalText("When that password was last changed, as the Secret records it (RFC 3339)."),
  nextRotation: optionalText(
    "When it is next changed (RFC 3339): at its age, or when the first window opens after that; absent without spec.connectionSecret.rotation.",
  ),
});

export const computeStatus = z.object({
  observedGeneration,
  conditions: conditions
    .optional()
    .describe(
      "Ready and Synced always, with one message; Reconciling and Stalled only while they are true. All share one reason.",
    ),
  appliedGeneration: optionalInteger(
    "The last generation of the spec whose changes were sent or stand in waiting, or that a create under way applies; -1 while an adopted endpoint does not have the spec yet.",
  ),
  state: optionalText(
    "The compute's state in one word: Creating, Starting, Active, Idle, Updating, Moving, Restarting, Disabled, Deleting, Lost, NotCreated while there is no endpoint, or Unknown while one cannot be seen. While the service cannot be reached, it keeps its last value.",
  ),
  endpointID: optionalText("The service's id of the endpoint (it starts with ep-)."),
  host: optionalText("Host name to connect to."),
  poolerHost: optionalText("Host name to connect to through the connection pooler."),
  regionID: optionalText("The service's id of the region that the compute runs in."),
  currentState: optionalText("current_state in the service's own words, for example active or idle."),
  pendingState: optionalText("pending_state in the service's own words; absent while no change is in progress."),
  type: optionalText("The type that the service shows: read_write or read_only."),
  branchID: optionalText(
    "The branch that the service shows the endpoint on; while there is no endpoint, the one that spec.branchName or spec.branchRef names.",
  ),
  resolvedBranch: z
    .object({
      name: optionalText("The name that was resolved."),
      id: optionalText("The branch that it came to, and that the compute is kept on."),
    })
    .optional()
    .describe("The branch that spec.branchName or spec.branchRef named when it was last followed."),
  computeUnits: z
    .object({
      min: optionalNumber("Least size in compute units (CU)."),
      max: optionalNumber("Largest size in compute units (CU)."),
    })
    .optional()
    .describe("The size that the service shows."),
  disabled: optionalFlag("Whether the service shows the compute as disabled."),
  disabledByUs: optionalFlag(
    "true from before this operator sends a change that disables the compute, until it is seen enabled for longer than such a change may take: until then a spec without disabled enables it.",
  ),
  lastActive: optionalText(
    "When the compute was last active (RFC 3339), brought up to date every 15 minutes; absent before it ever was.",
  ),
  createdAt: optionalText("When the service created the endpoint (RFC 3339)."),
  access: optionalText("The type in short, as kubectl get shows it: rw for read_write, ro for read_only."),
  branch: optionalText(
    "The branch as kubectl get shows it: its name where spec.branchName or spec.branchRef gives one, else its id.",
  ),
  size: optionalText("The size in words, for example 0.25–2 CU; that of the spec until an endpoint was seen."),
  capacity: capacity.optional().describe("What the compute can hold at its size."),
  operations: z
    .array(operation)
    .optional()
    .describe("The service's latest operations on this endpoint, newest first, ten at most."),
  restartedAt: optionalText("The last value of the restartedAt annotation that was carried out."),
  lastHandledReconcileAt: optionalText("The last value of the reconcileRequestedAt annotation that was handled."),
  lastHandledConfirmLoss: optionalText(
    "The last value of the confirmLoss annotation that was handled: it confirms no later loss.",
  ),
  binding: z
    .object({ name: optionalText("Name of the connection Secret.") })
    .optional()
    .describe(
      "The connection Secret in this namespace, where applications look for it (Service Binding specification).",
    ),
  connectionSecret: secretStatus
    .optional()
    .describe("The connection Secret, in whatever namespace: the one that goes with this object."),
  drift: z
    .array(drift)
    .optional()
    .describe(
      "With driftPolicy: Report or managementPolicy: Observe, where the service differs from the spec; sorted by field.",
    ),
  managementPolicy: optionalText(
    "Observe while the object only observes: the endpoint shown is not linked by that. Absent otherwise.",
  ),
  schedule: z
    .object({
      active: optionalText("Name of the entry in force; empty: none."),
      until: optionalText("When that changes (RFC 3339); absent if it does not soon."),
    })
    .optional()
    .describe("The entry of the schedule that is in force, by the service's clock."),
  appliedEntry: optionalText("Name of the entry of the schedule that the service was last brought to; empty: none."),
  waiting: z
    .array(waitingChange)
    .optional()
    .describe("The changes that would cut connections and wait for a window, or for other members of the pool."),
  nextWindow: optionalText("When the next window opens (RFC 3339), while a change waits for one."),
  observedThrough: optionalText(
    "A fingerprint of the base URL and key with which the endpoint was last seen; it reveals neither.",
  ),
  clusterConnection: optionalText(
    "Name of the ClusterServiceConnection with which the endpoint was last seen, if it was one.",
  ),
  proof: proof
    .optional()
    .describe("The proof that the endpoint is this Compute's own, for lists that do not show its name."),
  pendingWrite: pendingWrite
    .optional()
    .describe("The one record of a write whose outcome may not be known; written before the request is sent."),
  deletionPolicy: optionalText(
    "The policy in force when this object is deleted: that of the spec, else Delete for what was created and Retain for what was adopted.",
  ),
  gone: optionalText(
    "The endpoint that was last proved gone: an annotation endpoint-id that still names it counts as none.",
  ),
  lossDoubted: optionalFlag(
    "true after MassLoss until the endpoint is seen again or a person confirms the loss, whatever reason is shown in between.",
  ),
});

/** The connection Secret, as `status.connectionSecret` names it. */
export type SecretStatus = z.output<typeof secretStatus>;
export type ComputeStatus = z.output<typeof computeStatus>;

/** The fields that a status drops for an endpoint of another owner: left there, they would pass for a link. */
export const nothingShown = {
  endpointID: undefined,
  host: undefined,
  poolerHost: undefined,
  regionID: undefined,
  type: undefined,
  branchID: undefined,
  computeUnits: undefined,
  disabled: undefined,
  disabledByUs: undefined,
  lastActive: undefined,
  createdAt: undefined,
  size: undefined,
  capacity: undefined,
  operations: undefined,
} satisfies Partial<ComputeStatus>;

/** The record of a write, as `status.pendingWrite` holds it. */
export type WriteRecord = z.output<typeof pendingWrite>;
/** The proof that an endpoint is a Compute's own, as `status.proof` holds it. */
export type StatusProof = z.output<typeof proof>;
/** A change that waits for a window, as `status.waiting` holds it. */
export type WaitingChange = z.output<typeof waitingChange>;
export type Capacity = NonNullable<ComputeStatus["capacity"]>;
export type StatusOperation = NonNullable<ComputeStatus["operations"]>[number];
