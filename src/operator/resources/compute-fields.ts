import { z } from "zod";
import type { ComputeAttribute } from "../../api/compute-attributes.ts";
import { longestSuspendSeconds, shortestSuspendSeconds } from "../../api/scale-to-zero.ts";
import { namesOf } from "../../api/table.ts";
import { computeUnits } from "./compute-units.ts";
import { duration } from "./duration.ts";
import { optionalFlag, printableEntries, withRules } from "./fields.ts";

const scaleToZero = withRules(
  z.object({
    enabled: z
      .boolean()
      .describe("Whether the compute is suspended after a time without activity. false keeps it always active."),
    after: duration("scaleToZero.after", shortestSuspendSeconds, longestSuspendSeconds)
      .optional()
      .describe(
        "Time without activity until the compute is suspended, in s, m, h and d, for example 5m: from 60s to 7d. Needs enabled: true. Left out, the service decides (300 seconds).",
      ),
  }),
  {
    cel: "!has(self.after) || self.enabled",
    message: "scaleToZero.after needs scaleToZero.enabled: true",
    holds: ({ enabled, after }) => after === undefined || enabled,
  },
);

const poolerEnds =
  "Deprecated at the public service, which may not keep it: the pooled host in status.poolerHost works without it.";

const pooler = z.object({
  enabled: optionalFlag(`Whether clients can connect through the service's connection pooler. ${poolerEnds}`),
  mode: z
    .string()
    .min(1)
    .max(60)
    .regex(/^[a-z_]+$/, "must be a-z and _, for example transaction")
    .optional()
    .describe(`How the pooler shares connections, for example transaction. ${poolerEnds}`),
});

const postgresSettings = withRules(
  z.record(z.string(), z.string().max(4096)).meta({ maxProperties: 200 }),
  printableEntries,
).describe(
  "Postgres settings by name, all values as strings, for example max_wal_size: 4GB. Only the settings named here are compared and sent; others that the compute has are kept.",
);

/**
 * The attribute that a field of the spec stands for, and the unit in which the service has it:
 *
 * | `unit`       | the spec has                    | the service has                                     |
 * |--------------|---------------------------------|-----------------------------------------------------|
 * | `same`       | a text, a number or true, false | the same                                            |
 * | `suspension` | `enabled` and a duration        | seconds; -1: never, 0: its default                  |
 * | `settings`   | some settings by name           | all settings by name, and more, which are sent back |
 */
export type FieldTarget =
  | {
      unit: "same";
      wire: ComputeAttribute | Readonly<Record<string, ComputeAttribute>>;
      isWhole?: true;
      isDeprecated?: true;
      cutsConnections?: true;
    }
  | { unit: "suspension"; wire: "suspend_timeout_seconds"; cutsConnections?: never }
  | { unit: "settings"; wire: "settings"; cutsConnections?: true };

/**
 * The fields of a Compute that are attributes of its endpoint, one row each in the order of the documentation. `crd` is
 * the schema in the CRDs: no field has a default, because one that is left out is left to the service, and neither sent
 * nor compared. `wire` is one attribute, or one for each part of the field; `isWhole`: the service holds the parts
 * against each other, so they are sent and exported together; `isDeprecated`: the public service has announced the end
 * of the field, and may take it without keeping it; `cutsConnections`: the service restarts the compute for a change of
 * it. What is compared, sent, held until a window opens and exported follows from the row.
 */
export const computeFields = {
  computeUnits: {
    crd: computeUnits
      .optional()
      .describe("Size in compute units. Changing it restarts the compute. Left out, the service decides."),
    unit: "same",
    wire: { min: "autoscaling_limit_min_cu", max: "autoscaling_limit_max_cu" },
    isWhole: true,
    cutsConnections: true,
  },
  scaleToZero: {
    crd: scaleToZero
      .optional()
      .describe("Whether and when the compute is suspended without activity. Left out, the service decides."),
    unit: "suspension",
    wire: "suspend_timeout_seconds",
  },
  pooler: {
    crd: pooler.optional().describe(`Connection pooling. Left out, the service decides. ${poolerEnds}`),
    unit: "same",
    wire: { enabled: "pooler_enabled", mode: "pooler_mode" },
    isDeprecated: true,
  },
  disabled: {
    crd: optionalFlag(
      "true: the compute accepts no connections. Left out, the service decides; but a compute that this operator disabled is enabled again.",
    ),
    unit: "same",
    wire: "disabled",
  },
  passwordlessAccess: {
    crd: optionalFlag(
      "Whether the service may let a signed-in user connect without a password. Left out, the service decides.",
    ),
    unit: "same",
    wire: "passwordless_access",
  },
  postgresSettings: { crd: postgresSettings.optional(), unit: "settings", wire: "settings", cutsConnections: true },
} as const satisfies Record<string, FieldTarget & { crd: z.ZodType }>;

export type ComputeField = keyof typeof computeFields;

/** The table by its rows. */
export const fieldTargets: readonly (readonly [ComputeField, FieldTarget])[] = namesOf(computeFields).map((field) => [
  field,
  computeFields[field],
]);

/** The parts of a field and their attributes; one part without a name where the field has none. */
export function partsOf({
  wire,
}: Extract<FieldTarget, { unit: "same" }>): [part: string | undefined, ComputeAttribute][] {
  return typeof wire === "string" ? [[undefined, wire]] : Object.entries(wire);
}
