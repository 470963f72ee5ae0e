import { z } from "zod";
import { loose } from "./loose.ts";
import { Operation } from "./operation.ts";

/** Fields of an answer; the service itself promises more of them than a reader may count on. */
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
  expires_at: z.string().optional(),
  last_reset_at: z.string().optional(),
  logical_size: z.number().optional(),
};

/** A branch of a project. */
export const Branch = loose(branchFields);
export type Branch = z.infer<typeof Branch>;

/** A branch with the note that a client wrote with its create, where it has one. */
export type ListedBranch = Branch & { note?: Readonly<Record<string, unknown>> };

/** The note that a client wrote when it created a branch; nothing rewrites it. */
const Annotation = loose({ value: loose({}).optional() });

/** `GET …/branches`, one page of it. */
export const BranchesAnswer = loose({
  branches: z.array(Branch),
  annotations: z.record(z.string(), Annotation.optional()).optional().catch(undefined),
  pagination: loose({ next: z.string().optional() }).optional(),
});
export type BranchesAnswer = z.infer<typeof BranchesAnswer>;

/** One branch; `recovery` shows that it is deleted and can be recovered for a while. */
export const BranchAnswer = loose({
  branch: loose({ ...branchFields, recovery: z.unknown().optional() }),
  annotation: Annotation.optional().catch(undefined),
  operations: z.array(Operation).optional(),
});
export type BranchAnswer = z.infer<typeof BranchAnswer>;
