import { z } from "zod";
import { Id } from "../../api/ids.ts";
import { nameOf } from "../../api/names.ts";
import { EndpointOfBranch, fieldsWithoutEmptyTexts, optionalText, provisioner } from "../computes/requests.ts";
import { DefaultEndpointSettings, initSources, keptOnly, ProjectDetails } from "../store/details.ts";
import { ExpiresAt, Time } from "./expiry.ts";

/**
 * The fields that the service uses from the bodies that change projects and branches. Other fields of the public API
 * are accepted (see `checkKnown`), and kept if an answer shows them.
 */

const projectFields = {
  name: nameOf(256).optional(),
  default_endpoint_settings: DefaultEndpointSettings.optional(),
  history_retention_seconds: ProjectDetails.shape.history_retention_seconds.unwrap().optional(),
  // Checked without empty texts (see `checkKnown`), and so kept without them: a client may read no text there.
  settings: z.record(z.string(), z.unknown()).meta(keptOnly).transform(fieldsWithoutEmptyTexts).optional(),
};

/** The name of a role or a database. */
const PostgresName = z
  .string()
  .refine((name) => name.trim() !== "" && !name.includes("\0") && Buffer.byteLength(name) <= 63, {
    error: "must be a name of 1 to 63 bytes, not only white space and without U+0000",
  })
  .refine((name) => !/^\.\.?$/.test(name), { error: "must not be . or .., which no path can name" });

const kept = { error: "must not be a name that Postgres or the service keeps for itself" };

/** The name of a role; names reserved by Postgres and the service are refused. */
export const RoleName = PostgresName.refine(
  (name) => !/^(pg_|(neon_superuser|cloud_admin|zenith_admin|public|none)$)/.test(name),
  kept,
);

/** The name of a database. The service's own sessions rely on these databases: no client may own one. */
export const DatabaseName = PostgresName.refine((name) => !/^(postgres|template[01])$/.test(name), kept);

const Annotations = z
  .record(z.string().min(1).max(256), z.string().max(4096))
  .refine((values) => Object.keys(values).length <= 50, { error: "must be at most 50 values" })
  .meta(keptOnly);

/** A major version of Postgres. */
export const PostgresMajor = z.int().min(14).max(19);

/** The body of `POST /projects`; without `org_id` a personal key creates a project of its own account. */
export const ProjectCreateBody = z.object({
  project: z.object({
    ...projectFields,
    name: optionalText(nameOf(256)),
    org_id: Id.optional(),
    region_id: optionalText(
      z.string().regex(/^(aws|azure)-[a-z0-9-]{1,40}$/, { error: "must be a region such as aws-us-east-2" }),
    ),
    pg_version: PostgresMajor.optional(),
    store_passwords: z.boolean().optional(),
    autoscaling_limit_min_cu: DefaultEndpointSettings.shape.autoscaling_limit_min_cu,
    autoscaling_limit_max_cu: DefaultEndpointSettings.shape.autoscaling_limit_max_cu,
    provisioner,
    branch: z
      .object({
        name: nameOf(256).optional(),
        role_name: RoleName.optional(),
        database_name: DatabaseName.optional(),
        annotations: Annotations.optional(),
      })
      .optional(),
  }),
});
export type NewProject = z.infer<typeof ProjectCreateBody>["project"];

/** The body of `PATCH /projects/{id}`. */
export const ProjectPatchBody = z.object({ project: z.object(projectFields) });
export type ChangedProject = z.infer<typeof ProjectPatchBody>["project"];

/** A position in the write-ahead log. */
export const Lsn = z
  .string()
  .regex(/^[0-9A-Fa-f]{1,8}\/[0-9A-Fa-f]{1,8}$/, { error: "must be an LSN such as 0/1E19478" });

/** The body of `POST …/branches`. Without a body: a branch of the default branch, without a compute. */
export const BranchCreateBody = z.object({
  branch: z
    .object({
      name: optionalText(nameOf(256)),
      parent_id: optionalText(Id),
      parent_lsn: optionalText(Lsn),
      parent_timestamp: Time.optional(),
      protected: z.boolean().optional(),
      init_source: z.enum(initSources).optional(),
      expires_at: ExpiresAt.optional(),
    })
    .optional(),
  endpoints: z.array(EndpointOfBranch).max(20).optional(),
  annotation_value: Annotations.optional(),
});
export type NewBranchBody = z.infer<typeof BranchCreateBody>;

/** The body of `PATCH …/branches/{id}`; `expires_at: null` removes the expiration. */
export const BranchPatchBody = z.object({
  branch: z.object({
    name: nameOf(256).optional(),
    protected: z.boolean().optional(),
    expires_at: ExpiresAt.nullable().optional(),
  }),
});
export type ChangedBranch = z.infer<typeof BranchPatchBody>["branch"];

/** The body of `POST …/branches/{id}/restore`. */
export const BranchRestoreBody = z.object({
  source_branch_id: Id,
  source_lsn: Lsn.optional(),
  source_timestamp: Time.optional(),
  preserve_under_name: nameOf(256).optional(),
});
export type BranchRestore = z.infer<typeof BranchRestoreBody>;

/** The body of `POST …/roles`. */
export const RoleCreateBody = z.object({ role: z.object({ name: RoleName, no_login: z.boolean().optional() }) });

/** The body of `POST …/databases`. */
export const DatabaseCreateBody = z.object({ database: z.object({ name: DatabaseName, owner_name: z.string() }) });

/** The body of `PATCH …/databases/{name}`. */
export const DatabasePatchBody = z.object({
  database: z.object({ name: DatabaseName.optional(), owner_name: z.string().optional() }),
});
