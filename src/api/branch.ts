import { z } from "zod";
import { loose } from "./loose.ts";

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
