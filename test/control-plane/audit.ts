import { readFileSync } from "node:fs";
import { z } from "zod";

/** The user that the operator is when it runs as deploy/ installs it. */
export const installedOperator = "system:serviceaccount:compute-operator-system:compute-operator";

/** One request that the API server has answered. */
const request = z.object({
  verb: z.string(),
  /** With the query. */
  requestURI: z.string(),
  user: z.object({ username: z.string() }),
  objectRef: z
    .object({
      /** Absent for the core group. */
      apiGroup: z.string().optional(),
      resource: z.string(),
      subresource: z.string().optional(),
      namespace: z.string().optional(),
      name: z.string().optional(),
    })
    .optional(),
  responseStatus: z.object({ code: z.number() }).optional(),
  /** RFC 3339 with microseconds. */
  stageTimestamp: z.string(),
});
export type AuditedRequest = z.infer<typeof request>;

/**
 * Every write of one user that the API server has answered, refused ones too, oldest first; from a byte of the log on.
 */
export function writesBy(username: string, auditLogFile: string, fromByte = 0): AuditedRequest[] {
  return requestsBy(username, auditLogFile, fromByte).filter(({ verb }) => !["get", "list", "watch"].includes(verb));
}

/** Every request of one user that the audit log holds: of `installedOperator` all, of others the writes. */
export function requestsBy(username: string, auditLogFile: string, fromByte = 0): AuditedRequest[] {
  const log = readFileSync(auditLogFile);
  // Either end may lie in a line that the API server was still writing: it counts once it is whole.
  const from = log.subarray(0, fromByte).lastIndexOf("\n") + 1;
  return log
    .subarray(from, log.lastIndexOf("\n") + 1)
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => request.parse(JSON.parse(line)))
    .filter(({ user }) => user.username === username);
}
