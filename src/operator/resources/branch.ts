import { z } from "zod";
import { conditions } from "../objects/conditions-of.ts";
import { isRetained } from "../objects/deletion-policy.ts";
import { type Declared, declared, type KubeObject, type OwnerReference, placeOf, readerOf } from "../objects/object.ts";
import { brokenWhenWritten, commonFields, computeTemplate, managementPolicy } from "./compute-spec.ts";
import { duration } from "./duration.ts";
import {
  branchNames,
  brokenAt,
  id,
  immutable,
  observedGeneration,
  oneOf,
  optionalFlag,
  optionalInteger,
  optionalText,
  printable,
  type Rule,
  withRules,
} from "./fields.ts";
import { isObserved } from "./management-policy.ts";
import { keeperOf, ownKind } from "./own-kind.ts";
import { rfc3339 } from "./time.ts";

/** The longest life that the service gives a branch at once, in seconds: 30 days. */
const MONTH_SECONDS = 30 * 24 * 3600;

const time = z.string().max(40).regex(rfc3339, "must be a time such as 2026-11-24T00:00:00Z");

const parent = withRules(
  z.object({
    branchID: id.optional().describe("Id of the parent branch, for example br-aged-salad-637688."),
    branchName: branchNames.optional().describe("Name of the parent branch, for example main."),
    at: time
      .optional()
      .describe("Start from the parent as it was at this time (RFC 3339), for example 2026-11-24T00:00:00Z."),
    lsn: z
      .string()
      .max(20)
      .regex(/^[0-9A-Fa-f]{1,8}[/][0-9A-Fa-f]{1,8}$/, "must be a log sequence number such as 0/1A2B3C4")
      .optional()
      .describe("Start from the parent as it was at this log sequence number, for example 0/1A2B3C4."),
    schemaOnly: optionalFlag("true: start with the parent's schema and no data. Such a branch has no parent."),
  }),
  {
    cel: "!has(self.branchID) || !has(self.branchName)",
    message: "parent takes branchID or branchName, not both",
    holds: (given) => given.branchID === undefined || given.branchName === undefined,
  },
  {
    cel: "!has(self.at) || !has(self.lsn)",
    message: "parent takes at or lsn, not both",
    holds: ({ at, lsn }) => at === undefined || lsn === undefined,
  },
);

const expiry = oneOf("expiry", [
  z.strictObject({
    after: duration("expiry.after", 10, MONTH_SECONDS).describe(
      "The branch ends this long after its creation, last reset or last change of expiry, in s, m, h and d, for example 72h: from 10s to 30d.",
    ),
  }),
  z.strictObject({ at: time.describe("The branch ends at this time (RFC 3339), for example 2026-12-24T00:00:00Z.") }),
  z.strictObject({
    lease: duration("expiry.lease", 60, MONTH_SECONDS).describe(
      "The branch ends this long after the operator last renewed it: while this object exists, the operator does so. In s, m, h and d, for example 24h: from 60s to 30d.",
    ),
  }),
  z.strictObject({ never: z.literal(true).describe("true: the branch has no end.") }),
]);

const adopt = oneOf("adopt", [
  z.strictObject({ branchID: id.describe("Take over the branch with this id, for example br-aged-salad-637688.") }),
  z.strictObject({
    byName: z.literal(true).describe("true: take over the branch that has this object's branch name."),
  }),
  z.strictObject({
    former: z
      .literal(true)
      .describe(
        "true: take over what a former Branch of this fleet, namespace and name made, as after the loss of the cluster; where there is none, one is created. Needs the operator's --fleet.",
      ),
  }),
]);

const fields = z.object({
  connectionRef: commonFields.connectionRef.describe(
    "The connection that says how to reach the service. May be changed to one that lists the same branch.",
  ),
  projectID: withRules(id, immutable("projectID", "make another object for another project")).describe(
    "Id of the service's project that gets the branch, for example shiny-wind-028834. Immutable.",
  ),
  branchName: branchNames
    .optional()
    .describe(
      "Name of the branch at the service, unique in its project, for example preview/pr-42. Left out: NAMESPACE/NAME. Immutable.",
    ),
  parent: parent
    .optional()
    .describe("Where the branch starts from. Left out: the project's default branch. Immutable."),
  expiry: expiry.describe(
    "When the service ends the branch: exactly one of after, at, lease and never. With never the branch stays until this object is deleted.",
  ),
  protected: optionalFlag(
    "Whether the service protects the branch from deletion and reset. true needs expiry.never: true. Left out, the service decides.",
  ),
  adopt: adopt
    .optional()
    .describe(
      "Take over a branch that exists instead of creating one: exactly one of branchID, byName and former. Used only until a branch is linked to this object; ignored afterwards. An adopted branch is never given an end, reset, renamed or deleted.",
    ),
  managementPolicy: managementPolicy.describe(
    "Manage, also if left out: the branch is kept as declared. Observe: the branch that adopt names is read and shown, and nothing is written to the service for it; its Compute only observes too, unless compute.managementPolicy says otherwise. Immutable.",
  ),
  deletionPolicy: z
    .enum(["Delete", "Retain"])
    .optional()
    .describe(
      "What happens to the branch when this object is deleted. Delete: it is deleted with its computes, if this object or a former one made it. Retain: it is kept, with the end that it has. Left out: Delete for what was made, Retain for what was adopted.",
    ),
  deletionProtection: commonFields.deletionProtection,
  compute: computeTemplate
    .optional()
    .describe(
      "A Compute on this branch, of this object's name, which it owns: the fields of a Compute's spec except projectID, connectionRef and those that name the branch.",
    ),
});

type Fields = z.output<typeof fields>;

/** A field that may be left out and keeps what it had first, also if that was nothing. */
const kept = (name: string): Rule<Fields> => ({
  cel: `has(self.${name}) == has(oldSelf.${name}) && (!has(self.${name}) || self.${name} == oldSelf.${name})`,
  message: `${name} is immutable: make another object for another branch`,
});

/** An observed branch has no end, lease or record that another policy could go on from. */
const policyStays: Rule<unknown> = {
  cel: "(has(self.managementPolicy) ? self.managementPolicy : 'Manage') == (has(oldSelf.managementPolicy) ? oldSelf.managementPolicy : 'Manage')",
  message: "managementPolicy is immutable: make another object to manage, or to observe, the branch",
};

export const branchSpec = withRules(
  fields,
  kept("branchName"),
  kept("parent"),
  policyStays,
  {
    cel: "!has(self.managementPolicy) || self.managementPolicy == 'Manage' || has(self.adopt)",
    message: "managementPolicy: Observe needs adopt, which names the branch to show",
    holds: (spec) => !isObserved({ spec }) || spec.adopt !== undefined,
  },
  {
    cel: "!has(self.adopt) || has(self.adopt.former) || has(self.expiry.never)",
    message: "adopt.branchID and adopt.byName need expiry.never: true: an adopted branch is never given an end",
    holds: ({ adopt: target, expiry: end }) => target === undefined || "former" in target || "never" in end,
  },
  {
    cel: "!has(self.protected) || !self.protected || has(self.expiry.never)",
    message: "protected: true needs expiry.never: true: the service lets no protected branch expire",
    holds: ({ protected: isProtected, expiry: end }) => isProtected !== true || "never" in end,
  },
);

/** Rules that a written spec breaks, and that a stored one need not keep. */
export function brokenInBranch({ branchName: name, parent: from, compute }: BranchSpec) {
  const ofCompute = brokenWhenWritten(compute ?? {});
  return [
    ...brokenAt(["branchName"], name, printable),
    ...brokenAt(["parent", "branchName"], from?.branchName, printable),
    ...ofCompute.map(({ path, message }) => ({ path: ["compute", ...path], message })),
  ];
}

const proof = z.object({
  uid: z.string().describe("The Branch's uid."),
  branchID: z.string().describe("The service's id of the branch."),
  by: z
    .string()
    .describe("created: our note shows it, or it answered our create; former: adopt.former; adopted: adopt named it."),
});

const pendingWrite = z.object({
  uid: z.string().describe("The Branch's uid."),
  operation: z.string().describe("reset."),
  value: z.string().describe("The value of resetAt that it answers."),
  since: z.string().describe("When it was written (RFC 3339)."),
  branchID: z.string().describe("The branch that is reset."),
  lastResetAt: optionalText("last_reset_at of the branch before, by the service's clock."),
});

const gone = z.object({
  branchID: z.string().describe("The branch that is proved gone."),
  how: z.string().describe("Expired, or BranchLost."),
  expiry: z.string().describe("spec.expiry at that time: another one makes the branch again."),
  resetAt: optionalText("The annotation resetAt at that time: another value makes the branch again."),
});

export const branchStatus = z.object({
  observedGeneration,
  conditions: conditions
    .optional()
    .describe("Ready and Synced always, with one message; Reconciling and Stalled only while they are true."),
  appliedGeneration: optionalInteger("The last generation of the spec that was applied at the service."),
  state: optionalText(
    "The branch's state in one word: NotCreated, Creating, Ready, Resetting, Deleting, Expired, Lost or Unknown.",
  ),
  branchID: optionalText("The service's id of the branch."),
  branchName: optionalText("Its name at the service."),
  parentID: optionalText("The service's id of its parent."),
  createdAt: optionalText("When the service created it (RFC 3339)."),
  expiresAt: optionalText("When the service deletes it (RFC 3339); absent: never."),
  appliedExpiry: optionalText("spec.expiry as it was last applied at the service."),
  appliedEnd: optionalText("The end that was last applied (RFC 3339); absent for none."),
  resetAt: optionalText("The last value of the resetAt annotation that was carried out."),
  lastHandledReconcileAt: optionalText("The last value of the reconcileRequestedAt annotation that was handled."),
  currentState: optionalText("current_state in the service's own words, for example ready."),
  protected: optionalFlag("Whether the service protects it."),
  default: optionalFlag("Whether it is the project's default branch."),
  children: optionalInteger("How many branches start from it."),
  logicalSize: optionalInteger("Size of its data in bytes, as the service counts it."),
  proof: proof.optional().describe("The proof that the branch is this object's own, or was adopted."),
  pendingWrite: pendingWrite.optional().describe("The record of a reset whose outcome may not be known."),
  takenUntil: optionalText("When another owner's branch that has this object's branch name ends (RFC 3339)."),
  gone: gone.optional().describe("The branch that was last proved gone; nothing is made in its place automatically."),
  deletionPolicy: optionalText("The policy in force when this object is deleted."),
  observedThrough: optionalText("A fingerprint of the base URL and key with which the branch was last seen."),
  clusterConnection: optionalText(
    "Name of the ClusterServiceConnection with which the branch was last seen, if it was one.",
  ),
});

/** The record of a reset, as `status.pendingWrite` holds it. */
export type ResetRecord = z.output<typeof pendingWrite>;
export type BranchSpec = z.output<typeof branchSpec>;
export type BranchStatus = z.output<typeof branchStatus>;

/** One branch of the service, kept as declared. */
export type Branch = Declared<BranchSpec, BranchStatus>;

export const branchKind = ownKind<Branch>("Branch", "branches");

export const parseBranch = readerOf(declared(branchSpec, branchStatus));

/** The name that the branch has at the service. */
export function branchNameOf({ metadata, spec }: Pick<Branch, "metadata" | "spec">): string {
  return spec.branchName ?? placeOf(metadata);
}

/** `spec.expiry` as a text, which differs where it does. */
export function expiryInWords(end: BranchSpec["expiry"]): string {
  if ("after" in end) return `after ${end.after}`;
  if ("at" in end) return `at ${end.at}`;
  return "lease" in end ? `lease ${end.lease}` : "never";
}

/** The owner reference to the Branch that made a Compute and keeps its spec. */
export function owningBranch(compute: Pick<KubeObject, "metadata">): OwnerReference | undefined {
  return keeperOf(compute, branchKind);
}

/** The spec of the Compute that a Branch owns, as it is sent; `undefined`: it is to have none. */
export function ownedComputeSpec({ metadata, spec, status }: Branch): object | undefined {
  if (spec.compute === undefined) return undefined;
  const { projectID, connectionRef } = spec;
  const inherited = spec.deletionPolicy ?? (isRetained({ spec, status }) ? "Retain" : undefined);
  const deletionPolicy = spec.compute.deletionPolicy ?? inherited;
  const policy = spec.compute.managementPolicy ?? spec.managementPolicy;
  return {
    ...spec.compute,
    ...(deletionPolicy === undefined ? {} : { deletionPolicy }),
    ...(policy === undefined ? {} : { managementPolicy: policy }),
    projectID,
    connectionRef,
    branchRef: { name: metadata.name },
  };
}
