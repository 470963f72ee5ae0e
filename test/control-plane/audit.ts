import { readFileSync } from "node:fs";
import { z } from "zod";

/** One write that the API server has answered. */
const write = z.object({
  verb: z.string(),
  /** With the query. */
  requestURI: z.string(),
  user: z.object({ username: z.string() }),
  objectRef: z
    .object({
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
export type AuditedWrite = z.infer<typeof write>;

/** Every write of one user that the API server has answered, refused ones too, oldest first. */
export function writesBy(username: string, auditLogFile: string): AuditedWrite[] {
  return readFileSync(auditLogFile, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => write.parse(JSON.parse(line)))
    .filter(({ user }) => user.username === username);
}
