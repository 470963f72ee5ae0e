import { z } from "zod";
import { computeUnitSizes, computeUnitSizesInWords } from "./compute-units.ts";
import { figure, loose, shortText } from "./loose.ts";
import { nameOf } from "./names.ts";
import { defaultSuspend, longestSuspendSeconds, neverSuspend, shortestSuspendSeconds } from "./scale-to-zero.ts";

const ComputeUnits = z.literal([...computeUnitSizes], { error: `must be a compute size: ${computeUnitSizesInWords}` });

const error = `must be -1 (never), 0 (the default of 5 minutes), or ${shortestSuspendSeconds} to ${longestSuspendSeconds} seconds`;
const SuspendTimeout = z.union(
  [
    z.literal([neverSuspend, defaultSuspend], { error }),
    z.int({ error }).min(shortestSuspendSeconds, { error }).max(longestSuspendSeconds, { error }),
  ],
  { error },
);

/** The value of one Postgres setting in an answer. */
export const Setting = z.string().max(8192);

/** The settings of a compute as a client sends them: without `pg_settings` the service refuses them. */
export const EndpointSettings = z.strictObject({
  pg_settings: z.record(z.string().min(1).max(128), z.string().max(4096), {
    error: "must be a map of Postgres settings to strings: settings must not be nil",
  }),
  preload_libraries: z
    .strictObject({
      use_defaults: z.boolean().optional(),
      enabled_libraries: z.array(z.string().min(1).max(128)).max(100).optional(),
    })
    .optional(),
});
export type EndpointSettings = z.infer<typeof EndpointSettings>;

const settingsShown = loose({
  pg_settings: z.record(z.string(), Setting).optional(),
  preload_libraries: z.looseObject({}).optional(),
});

const flag = { shown: z.boolean().optional(), sent: z.boolean().optional() };

/**
 * The attributes that a client can set when it creates a compute and change later, by their names on the wire. `shown`
 * reads an answer, in which any may be missing or have values that are unknown today; `sent` checks a request.
 */
export const computeAttributes = {
  name: { shown: shortText.optional(), sent: nameOf(64).optional() },
  autoscaling_limit_min_cu: { shown: figure.optional(), sent: ComputeUnits.optional() },
  autoscaling_limit_max_cu: { shown: figure.optional(), sent: ComputeUnits.optional() },
  /** Seconds; see scale-to-zero.ts for -1 and 0. */
  suspend_timeout_seconds: { shown: z.number().optional(), sent: SuspendTimeout.optional() },
  settings: { shown: settingsShown.optional(), sent: EndpointSettings.optional() },
  pooler_enabled: flag,
  pooler_mode: { shown: shortText.optional(), sent: z.enum(["transaction"]).optional() },
  disabled: flag,
  passwordless_access: flag,
  provisioner: { shown: shortText.optional(), sent: z.string().min(1).max(64).optional() },
};

export type ComputeAttribute = keyof typeof computeAttributes;
