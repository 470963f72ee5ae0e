import { z } from "zod";
import { loose } from "./loose.ts";

/** The body of every refusal. `code` may be empty. A body that lacks `message` or `code` is not the service's own. */
export const ErrorBody = loose({
  request_id: z.string().optional(),
  code: z.string(),
  message: z.string(),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** The codes known today; the set is open. */
export const errorCodes = {
  secondPrimary: "ENDPOINTS_LIMIT_EXCEEDED",
  projectsLimit: "PROJECTS_LIMIT_EXCEEDED",
  branchesLimit: "BRANCHES_LIMIT_EXCEEDED",
  activeEndpointsLimit: "ACTIVE_ENDPOINTS_LIMIT_EXCEEDED",
  computeTime: "COMPUTE_TIME_EXCEEDED",
} as const;

/** The project that a scoped key is confined to, from the message with which it is refused elsewhere. */
export function scopedProjectOf(message: string): string | undefined {
  return /subject_project_id:"([^"]+)"/.exec(message)?.[1];
}
