import { z } from "zod";
import { EndpointSettings } from "../../api/compute-attributes.ts";
import { EndpointCreate } from "../../api/endpoint.ts";

const { autoscaling_limit_min_cu, autoscaling_limit_max_cu, suspend_timeout_seconds } =
  EndpointCreate.shape.endpoint.shape;

/** Settings of Postgres or of the pooler by name. */
const NamedSettings = z.record(z.string().min(1).max(128), z.string().max(4096));

/** Marks a field that is only stored and shown; docs/service-api.md lists them. */
export const keptOnly = { "x-kept-only": true };

const PoolerSettings = NamedSettings.meta(keptOnly).optional();

export const ComputeSettings = EndpointSettings.extend({ pgbouncer_settings: PoolerSettings });
export type ComputeSettings = z.infer<typeof ComputeSettings>;

/** As they are stored: checked when they were sent, and read by the hundred in one turn of the loop. */
export const StoredSettings = z.custom<ComputeSettings>();

/** The defaults for new computes of a project. */
export const DefaultEndpointSettings = z.object({
  pg_settings: NamedSettings.optional(),
  pgbouncer_settings: PoolerSettings,
  autoscaling_limit_min_cu,
  autoscaling_limit_max_cu,
  suspend_timeout_seconds,
});
export type DefaultEndpointSettings = z.infer<typeof DefaultEndpointSettings>;

/** Project fields that are stored under the API's names. */
export const ProjectDetails = z.object({
  /** True if passwords of roles can be shown again. */
  store_passwords: z.boolean().default(true),
  /** Length of the history in which another branch can start, in seconds. */
  history_retention_seconds: z.int().min(0).max(2_592_000).default(86_400),
  default_endpoint_settings: DefaultEndpointSettings.optional(),
  /** Only stored. */
  settings: z.record(z.string(), z.unknown()).optional(),
});
export type ProjectDetails = z.infer<typeof ProjectDetails>;

/** As they are stored; see `StoredSettings`. */
export const StoredProjectDetails = ProjectDetails.extend({
  default_endpoint_settings: z.custom<DefaultEndpointSettings>().optional(),
  settings: z.custom<Record<string, unknown>>().optional(),
});

/** The content that a branch begins with: the parent's data, its schema alone, or that and no parent. */
export const initSources = ["parent-data", "parent-schema", "schema-only"] as const;

/** The annotations that an operator notes on a branch that it made begin with this. */
export const notePrefix = "compute-operator.dev/";

/** The place of one of them in a branch's details, for SQL. */
export function notePath(name: "object" | "uid"): string {
  return `'$.annotations."${notePrefix}${name}"'`;
}

/** Branch fields that are stored under the API's names. */
export const BranchDetails = z.object({
  parent_lsn: z.string().optional(),
  parent_timestamp: z.string().optional(),
  init_source: z.enum(initSources).default("parent-data"),
  last_reset_at: z.string().optional(),
  /** Of the last end that the branch was given: of no meaning where it has none. */
  ttl_interval_seconds: z.number().optional(),
  /** Only stored: values by name. */
  annotations: z.record(z.string(), z.string()).default({}),
});
export type BranchDetails = z.infer<typeof BranchDetails>;
