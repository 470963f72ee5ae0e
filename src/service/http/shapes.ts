import { z } from "zod";
import { ApiKeyRecord } from "../../api/api-keys.ts";
import { branchFields } from "../../api/branch.ts";
import { endpointFields } from "../../api/endpoint.ts";
import { operationFields } from "../../api/operation.ts";
import { projectFields } from "../../api/project.ts";
import { specifiedAttributes } from "../store/compute-attributes.ts";

const specified = Object.fromEntries(specifiedAttributes.map((name) => [name, true] as const));

/** An endpoint whose fields in the specification are always present; fields beyond it may be missing. */
const Endpoint = z.looseObject(endpointFields).required({
  id: true,
  host: true,
  project_id: true,
  branch_id: true,
  region_id: true,
  type: true,
  current_state: true,
  ...specified,
  created_at: true,
  updated_at: true,
  proxy_host: true,
});
const Operation = z.looseObject(operationFields).required({
  id: true,
  project_id: true,
  action: true,
  status: true,
  failures_count: true,
  created_at: true,
  updated_at: true,
});
const Project = z.looseObject(projectFields).required({
  id: true,
  name: true,
  platform_id: true,
  region_id: true,
  provisioner: true,
  pg_version: true,
  cpu_used_sec: true,
  locked: true,
  branch_logical_size_limit: true,
  proxy_host: true,
  created_at: true,
  updated_at: true,
});
const Branch = z.looseObject(branchFields).required({
  id: true,
  project_id: true,
  name: true,
  current_state: true,
  default: true,
  protected: true,
  created_at: true,
  updated_at: true,
});

/** The answers as OpenAPI shows them. */
export const EndpointOnly = z.looseObject({ endpoint: Endpoint });
export const EndpointAndOperations = z.looseObject({ endpoint: Endpoint, operations: z.array(Operation) });
export const EndpointList = z.looseObject({ endpoints: z.array(Endpoint) });
export const OperationOnly = z.looseObject({ operation: Operation });
export const OperationPage = z.looseObject({
  operations: z.array(Operation),
  pagination: z.looseObject({ cursor: z.string() }).optional(),
});
export const ProjectOnly = z.looseObject({ project: Project });
export const ProjectPage = z.looseObject({
  projects: z.array(Project),
  pagination: z.looseObject({ cursor: z.string() }).optional(),
});
export const BranchOnly = z.looseObject({ branch: Branch });
export const BranchPage = z.looseObject({
  branches: z.array(Branch),
  pagination: z.looseObject({ next: z.string().optional() }).optional(),
});
export const BranchAndOperations = z.looseObject({ branch: Branch, operations: z.array(Operation) });
const Role = z.looseObject({ name: z.string(), branch_id: z.string(), created_at: z.string(), updated_at: z.string() });
const Database = Role.extend({ id: z.int(), owner_name: z.string() });
export const RoleOnly = z.looseObject({ role: Role });
export const RoleAndOperations = z.looseObject({ role: Role, operations: z.array(Operation) });
export const DatabaseOnly = z.looseObject({ database: Database });
export const DatabaseAndOperations = z.looseObject({ database: Database, operations: z.array(Operation) });
export const KeyList = z.array(ApiKeyRecord);
export const Uri = z.looseObject({ uri: z.string() });
export const Empty = z.looseObject({});

/** A query parameter that is a whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number, fallback: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^[0-9]{1,9}(\.0{1,9})?$/, { error })
    .meta({ type: "integer", minimum: min, maximum: max })
    .transform(Number)
    .pipe(z.number().min(min, { error }).max(max, { error }))
    .default(fallback);
}

/** A boolean query parameter in the spellings of several client languages. */
export const truth = z
  .string()
  .regex(/^(true|false|t|f|1|0)$/i, { error: "must be true or false" })
  .meta({ type: "boolean" })
  .transform((value) => /^[t1]/i.test(value))
  .default(false);

const badCursor = { error: "must be the cursor of the page before" };

/** The number of the row before a page, from the previous page. */
const Cursor = z
  .string()
  .regex(/^[0-9]{1,15}$/, badCursor)
  .transform(Number);

/** The query parameters of a list that is shown in pages of at most so many rows. */
export function pageOf(most: number, usual = most) {
  return { cursor: Cursor.optional(), limit: wholeNumber(1, most, usual) };
}

/** The cursor after a page of numbered rows; absent after an empty page. */
export function cursorAfter(page: readonly { seq: number }[]) {
  const last = page.at(-1);
  return last && { pagination: { cursor: String(last.seq) } };
}

/** The place of a row in a list: what the list is sorted by, and what no other row has. */
export type Mark = readonly [key: string | number, own: string | number];

const Part = z.union([z.string(), z.number()], badCursor);
const MarkText = z.string().transform((text): unknown => {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    // No mark.
    return undefined;
  }
});

/** The mark of the row before a page, as `cursorAt` writes it. */
const MarkCursor = MarkText.pipe(z.tuple([Part, Part], badCursor)).meta({ type: "string" });

/** As `pageOf`, for a list of which any row may go while a client is paging. */
export function markedPageOf(most: number) {
  return { cursor: MarkCursor.optional(), limit: wholeNumber(1, most, most) };
}

/** The cursor of the page after a row, from its mark. */
export function cursorAt(mark: Mark): string {
  return Buffer.from(JSON.stringify(mark)).toString("base64url");
}
