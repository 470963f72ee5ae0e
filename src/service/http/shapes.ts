import { z } from "zod";
import { ApiKeyCreated, ApiKeyRecord, ApiKeyRevoked } from "../../api/api-keys.ts";
import { AuthAnswer } from "../../api/auth.ts";
import { Branch } from "../../api/branch.ts";
import { Endpoint } from "../../api/endpoint.ts";
import { Operation } from "../../api/operation.ts";
import { Project } from "../../api/project.ts";

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
export const Created = ApiKeyCreated;
export const KeyList = z.array(ApiKeyRecord);
export const Revoked = ApiKeyRevoked;
export const Auth = AuthAnswer;
export const Uri = z.looseObject({ uri: z.string() });
export const Empty = z.looseObject({});

/** A query parameter that is a whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number, fallback: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^[0-9]{1,9}$/, { error })
    .transform(Number)
    .pipe(z.number().min(min, { error }).max(max, { error }))
    .default(fallback);
}

/** A query parameter that is `true` or `false`. */
export const truth = z
  .enum(["true", "false"])
  .transform((value) => value === "true")
  .default(false);

/** The position in a list from which the next page goes on, as the last page told it. */
export const Cursor = z
  .string()
  .regex(/^[0-9]{1,15}$/, { error: "must be the cursor of the page before" })
  .transform(Number);
