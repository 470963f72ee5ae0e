import { z } from "zod";
import { columnOf } from "../../api/table.ts";
import { computeFields } from "./compute-fields.ts";
import { connectionSecret, noShellVariables, onlyPrimariesRotate } from "./connection-secret.ts";
import {
  branchNames,
  brokenAt,
  endpointID,
  id,
  immutable,
  objectName,
  oneOf,
  optionalFlag,
  printable,
  printableEntries,
  type Rule,
  type WrittenRule,
  withRules,
} from "./fields.ts";
import { isObserved } from "./management-policy.ts";
import { brokenZones, disruption, schedule } from "./schedule.ts";

const connectionRef = z
  .object({
    kind: z
      .enum(["ServiceConnection", "ClusterServiceConnection"])
      .default("ServiceConnection")
      .describe(
        "ServiceConnection: one in the same namespace. ClusterServiceConnection: one of the cluster that admits this namespace.",
      ),
    name: objectName.default("default").describe("Name of the connection, for example default."),
  })
  .prefault({});

/** The endpoint to take over. Exactly one member. */
const adopt = oneOf("adopt", [
  z.strictObject({
    endpointID: endpointID.describe("Take over the endpoint with this id, for example ep-cool-term-123456."),
  }),
  z.strictObject({
    branchPrimary: z
      .literal(true)
      .describe("true: take over the branch's primary read-write endpoint; where there is none, one is created."),
  }),
  z.strictObject({
    former: z
      .literal(true)
      .describe(
        "true: take over what a former Compute of this fleet, namespace and name made, as after the loss of the cluster; where there is none, one is created. Needs the operator's --fleet.",
      ),
  }),
]);

/** A name in place of an id passes the pattern of ids. */
export const branchIDs: WrittenRule<string> = {
  cel: "self.startsWith('br-')",
  message: "an id begins with br-; for a name use branchName",
  written: (branchID) => branchID.startsWith("br-"),
};

/** Fields that a Compute and the template of a ComputePool have in common. */
export const commonFields = {
  connectionRef: connectionRef.describe(
    "The connection that says how to reach the service. May be changed to one that lists the same endpoint.",
  ),
  projectID: withRules(id, immutable("projectID", "make another object for another project")).describe(
    "Id of the service's project that holds the branch, for example shiny-wind-028834. Immutable.",
  ),
  branchID: withRules(id, branchIDs)
    .optional()
    .describe(
      "Id of the branch that the compute serves, for example br-aged-salad-637688. Changing it moves the compute, which is deprecated at the public service. Exactly one of branchID, branchName and branchRef.",
    ),
  branchName: branchNames
    .optional()
    .describe(
      "Name of the branch that the compute serves, for example main, instead of branchID. Changing it moves the compute. If another branch gets the name, the compute follows only with driftPolicy: Correct.",
    ),
  branchRef: z
    .object({ name: objectName.describe("Name of the Branch, in this namespace, for example pr-42.") })
    .optional()
    .describe(
      "The Branch of this namespace, project and connection that the compute serves, instead of branchID. Changing it moves the compute; while that Branch is not ready, nothing is created or moved.",
    ),
  ...columnOf(computeFields, "crd"),
  deletionPolicy: z
    .enum(["Delete", "Retain"])
    .optional()
    .describe(
      "What happens to the endpoint when this object is deleted. Delete: it is deleted, if this object created or adopted it. Retain: it is kept. Left out: Delete for an endpoint that this object, or a former one by adopt.former, created, and Retain for one that it adopted; status.deletionPolicy shows it.",
    ),
  driftPolicy: z
    .enum(["Correct", "Report"])
    .default("Correct")
    .describe(
      "What to do when the service differs from this spec. Correct: change it back. Report: report it in the status, and send only what is changed here.",
    ),
  branchDrift: z
    .enum(["Correct", "Report"])
    .optional()
    .describe(
      "What to do when the endpoint is moved to another branch outside the operator, as by a restore. Report, also if left out: it stays there, with the reason MovedOutside. Correct: it is moved back. With driftPolicy: Report it stays in any case, and is drift like any other.",
    ),
  schedule: schedule.optional(),
  disruption: disruption
    .optional()
    .describe(
      "When a change of computeUnits, of postgresSettings or of the branch may cut connections: in windows, or at anyTime. Until a window opens such a change waits, unless the compute is suspended or disabled; all else is sent at once. Left out: as the connection says, and by default at any time.",
    ),
  deletionProtection: optionalFlag(
    "true: deleting this object is refused until it is set to false. Needs the admission policy of deploy/base/deletion-protection, which a full installation includes.",
  ),
  connectionSecret: connectionSecret
    .optional()
    .describe("A Secret with the connection details, written and kept up to date by the operator."),
};

/** For a Compute and a Branch, which are otherwise kept as declared. */
export const managementPolicy = z.enum(["Manage", "Observe"]).optional();

const computePolicy = managementPolicy.describe(
  "Manage, also if left out: the endpoint is kept as declared. Observe: it is read and shown, with what Manage would change as drift; nothing is written to the service, and nothing is deleted with this object.",
);

interface NamesBranch {
  branchID?: string | undefined;
  branchName?: string | undefined;
  branchRef?: object | undefined;
}

/** For the spec of a Compute and the template of a ComputePool. */
export const oneBranch = {
  cel: "[has(self.branchID), has(self.branchName), has(self.branchRef)].filter(given, given).size() == 1",
  message: "set exactly one of branchID, branchName and branchRef",
  holds: ({ branchID, branchName, branchRef }: NamesBranch) =>
    [branchID, branchName, branchRef].filter((given) => given !== undefined).length === 1,
};

const types = z.enum(["read_write", "read_only"]);
const computeType = withRules(
  types.default("read_write"),
  immutable("type", "make another Compute for another type"),
).describe("read_write: the branch's primary, of which there is at most one. read_only: a read replica. Immutable.");

const primaryIsNoReplica = {
  cel: "!has(self.adopt) || !has(self.adopt.branchPrimary) || !has(self.type) || self.type == 'read_write'",
  message: "adopt.branchPrimary needs type: read_write: a read_only compute is never a branch's primary",
  holds: ({ adopt: target, type }: { adopt?: object | undefined; type?: string | undefined }) =>
    target === undefined || !("branchPrimary" in target) || type !== "read_only",
};

/** An observed Compute has no finalizer that would wait for the removal of a Secret in another namespace. */
const secretStaysHere = {
  cel: "!has(self.managementPolicy) || self.managementPolicy == 'Manage' || !has(self.connectionSecret) || !has(self.connectionSecret.__namespace__)",
  message: "connectionSecret.namespace needs managementPolicy: Manage: an observed Compute writes its Secret here only",
  holds: (spec: ObservedSecret) => !isObserved({ spec }) || spec.connectionSecret?.namespace === undefined,
};

interface ObservedSecret {
  managementPolicy?: string | undefined;
  connectionSecret?: { namespace?: string | undefined } | undefined;
}

export const computeSpec = withRules(
  z.object({
    ...commonFields,
    type: computeType,
    managementPolicy: computePolicy,
    adopt: adopt
      .optional()
      .describe(
        "Take over an endpoint that exists instead of creating one: exactly one of endpointID, branchPrimary and former. Used only until an endpoint is linked to this object; ignored afterwards.",
      ),
  }),
  oneBranch,
  primaryIsNoReplica,
  onlyPrimariesRotate,
  secretStaysHere,
);

/** Rules that a written spec, or the template of a pool, breaks, and that a stored one need not keep. */
export function brokenWhenWritten({
  branchID,
  branchName,
  postgresSettings,
  connectionSecret: secret,
  ...times
}: Pick<
  z.output<typeof computeSpec>,
  "branchID" | "branchName" | "postgresSettings" | "connectionSecret" | "schedule" | "disruption"
>): {
  path: string[];
  message: string;
}[] {
  return [
    ...brokenZones(times),
    ...brokenAt(["branchID"], branchID, branchIDs),
    ...brokenAt(["branchName"], branchName, printable),
    ...brokenAt(["postgresSettings"], postgresSettings, printableEntries),
    ...brokenAt(["connectionSecret", "database"], secret?.database, printable),
    ...brokenAt(["connectionSecret", "role"], secret?.role, printable),
    ...(secret?.roles ?? []).flatMap((role, at) => brokenAt(["connectionSecret", "roles", `${at}`], role, printable)),
    ...brokenAt(["connectionSecret", "template", "data"], secret?.template?.data, noShellVariables),
  ];
}

export type ComputeSpec = z.output<typeof computeSpec>;

const {
  projectID: _,
  connectionRef: __,
  branchID: ___,
  branchName: ____,
  branchRef: _____,
  ...template
} = commonFields;

/** The owned Compute cannot change its type either, and would never come to what the Branch declares. */
const typeStays: Rule<unknown> = {
  cel: "(has(self.type) ? self.type : 'read_write') == (has(oldSelf.type) ? oldSelf.type : 'read_write')",
  message: "compute.type is immutable: make another Compute with branchRef for another type",
};

/** The Compute that a Branch owns; without defaults, which the Compute itself gets. */
export const computeTemplate = withRules(
  z.object({
    ...template,
    driftPolicy: z
      .enum(["Correct", "Report"])
      .optional()
      .describe("What to do when the service differs from this spec, as in a Compute."),
    type: types
      .optional()
      .describe("read_write (the branch's primary), also if left out, or read_only. Immutable while compute stays."),
    managementPolicy: computePolicy,
    adopt: adopt.optional().describe("Take over an endpoint that exists, as in a Compute."),
  }),
  primaryIsNoReplica,
  onlyPrimariesRotate,
  secretStaysHere,
  typeStays,
);
