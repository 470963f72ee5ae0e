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

// The service has no codes for what follows: its text is read here, and nowhere else.

/** True if a 404 names a branch. Another may be of the project, or of a route that the service lacks. */
export function isAboutBranch(message: string): boolean {
  return /branch/i.test(message);
}

/** True if a 404 names an endpoint. */
export function isAboutEndpoint(message: string): boolean {
  return /endpoint/i.test(message);
}

/** True if a 404 refuses a right: it says nothing about what exists. */
export function isNotAllowed(message: string): boolean {
  return /not allowed/i.test(message);
}

/** True if a 422 will pass: the object of the call is not ready yet. */
export function isNotReady(message: string): boolean {
  return /not ready/i.test(message);
}

/** True if a refusal says that the name, or the place of the primary, is taken. */
export function isTaken(message: string): boolean {
  return /already exists/i.test(message);
}

/** The project that a scoped key is confined to, from the message with which it is refused elsewhere. */
export function scopedProjectOf(message: string): string | undefined {
  return /subject_project_id:"([^"]+)"/.exec(message)?.[1];
}
