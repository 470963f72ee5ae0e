import { z } from "zod";
import { EndpointCreate } from "./endpoint.ts";
import { Id } from "./ids.ts";
import { loose } from "./loose.ts";
import { nameOf } from "./names.ts";

/** What the answers are made of; the service itself promises more of it than a reader may count on. */
export const branchFields = {
  id: z.string().min(1),
  project_id: z.string().optional(),
  parent_id: z.string().optional(),
  name: z.string().optional(),
  current_state: z.string().optional(),
  default: z.boolean().optional(),
  protected: z.boolean().optional(),
  created_at: z.string().optional(),
  updated_at: z.string().optional(),
};

/** A branch of a project. */
export const Branch = loose(branchFields);
export type Branch = z.infer<typeof Branch>;

/** `GET …/branches`, one page of it. */
export const BranchesAnswer = loose({
  branches: z.array(Branch),
  pagination: loose({ next: z.string().optional() }).optional(),
});
export type BranchesAnswer = z.infer<typeof BranchesAnswer>;

/** The body of `POST …/branches`, which may be left out: a branch of the default branch, without a compute. */
export const BranchCreate = z.strictObject({
  branch: z
    .strictObject({
      name: nameOf(256).optional(),
      parent_id: Id.optional(),
      protected: z.boolean().optional(),
    })
    .optional(),
  endpoints: z
    .array(EndpointCreate.shape.endpoint.omit({ branch_id: true, region_id: true }))
    .max(20)
    .optional(),
});
export type BranchCreate = z.infer<typeof BranchCreate>;
