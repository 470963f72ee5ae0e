import { z } from "zod";
import { computeAttributes, Setting } from "./compute-attributes.ts";
import { EndpointId, Id } from "./ids.ts";
import { loose, shortText } from "./loose.ts";
import { Operation } from "./operation.ts";
import { columnOf } from "./table.ts";
import { entryByEntry, fieldByField, tolerant, wholly } from "./tolerant.ts";

export const endpointTypes = ["read_write", "read_only"] as const;
export type EndpointType = (typeof endpointTypes)[number];

/** The values of `current_state` and `pending_state` known today. */
export const endpointStates = ["init", "active", "idle"] as const;
export type EndpointState = (typeof endpointStates)[number];

/** Fields of an answer; the service itself promises more of them than a reader may count on. */
export const endpointFields = {
  id: EndpointId,
  branch_id: shortText.min(1),
  type: shortText,
  project_id: shortText.optional(),
  current_state: shortText.optional(),
  /** Present while a change of state is in progress. */
  pending_state: shortText.optional(),
  host: shortText.optional(),
  proxy_host: shortText.optional(),
  region_id: shortText.optional(),
  ...columnOf(computeAttributes, "shown"),
  creation_source: shortText.optional(),
  compute_release_version: shortText.optional(),
  /** Absent until the compute is first active. */
  last_active: shortText.optional(),
  started_at: shortText.optional(),
  suspended_at: shortText.optional(),
  created_at: shortText.optional(),
  updated_at: shortText.optional(),
};

/**
 * A compute as the service answers it. Required is what says which endpoint it is and where it stands: an item that
 * lacks any of it makes the whole list unreadable. Everything else a service may lack (the specification alone shows no
 * `name`, no `suspend_timeout_seconds`, no `started_at`), and what cannot be read is left out.
 */
export const Endpoint = tolerant(endpointFields, {
  settings: fieldByField({
    pg_settings: entryByEntry(Setting),
    preload_libraries: wholly(z.looseObject({})),
  }),
});
export type Endpoint = z.infer<typeof Endpoint>;

/**
 * True if the name of an endpoint cannot be read. The name proves whose an endpoint is, so its owner is unknown then.
 */
export function hasUnreadableName({ unreadable }: Endpoint): boolean {
  return unreadable?.includes("name") === true;
}

/** `GET …/endpoints` of a project or a branch. A body without `endpoints` is not an answer. */
export const EndpointsAnswer = loose({ endpoints: z.array(Endpoint) });
export type EndpointsAnswer = z.infer<typeof EndpointsAnswer>;

/**
 * `GET …/endpoints/{id}`, and the answer to every write, where `operations` tells what it set off: without them the
 * endpoint itself still shows what became of the write.
 */
export const EndpointAnswer = tolerant({ endpoint: Endpoint, operations: z.array(Operation).optional() });
export type EndpointAnswer = z.infer<typeof EndpointAnswer>;

const attributes = columnOf(computeAttributes, "sent");

/** The body of `POST …/endpoints`. */
export const EndpointCreate = z.strictObject({
  endpoint: z.strictObject({
    branch_id: Id,
    type: z.enum(endpointTypes),
    /** Only the project's own region is accepted. */
    region_id: z.string().min(1).max(64).optional(),
    ...attributes,
  }),
});
export type EndpointCreate = z.infer<typeof EndpointCreate>;

/** The body of `PATCH …/endpoints/{id}`: what is left out stays; another `branch_id` moves the compute. */
export const EndpointPatch = z.strictObject({
  endpoint: z.strictObject({ branch_id: Id.optional(), ...attributes }),
});
export type EndpointPatch = z.infer<typeof EndpointPatch>;
