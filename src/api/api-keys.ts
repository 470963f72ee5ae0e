import { z } from "zod";
import { Id } from "./ids.ts";
import { loose } from "./loose.ts";
import { nameOf } from "./names.ts";

/** The body of `POST /api_keys`. */
export const ApiKeyCreate = z.strictObject({ key_name: nameOf(64) });
export type ApiKeyCreate = z.infer<typeof ApiKeyCreate>;

/** The body of `POST /organizations/{id}/api_keys`; with `project_id` the key is scoped to that project. */
export const OrganizationApiKeyCreate = z.strictObject({
  key_name: nameOf(64),
  project_id: Id.optional(),
});
export type OrganizationApiKeyCreate = z.infer<typeof OrganizationApiKeyCreate>;

/** A new key: `key` is the secret, and this answer the only one that ever holds it. */
export const ApiKeyCreated = loose({
  id: z.number(),
  key: z.string().min(1),
  name: z.string(),
  created_at: z.string(),
  created_by: z.string(),
  project_id: z.string().optional(),
});
export type ApiKeyCreated = z.infer<typeof ApiKeyCreated>;

/** A key as it is listed. */
export const ApiKeyRecord = loose({
  id: z.number(),
  name: z.string(),
  created_at: z.string(),
  created_by: loose({ id: z.string(), name: z.string().optional(), image: z.string().optional() }),
  last_used_at: z.string().optional(),
  last_used_from_addr: z.string().optional(),
  project_id: z.string().optional(),
});
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

/** `GET /api_keys`: a bare array. */
export const ApiKeysAnswer = z.array(ApiKeyRecord);
export type ApiKeysAnswer = z.infer<typeof ApiKeysAnswer>;

/** `DELETE /api_keys/{id}`: the record of the key, now revoked for good. */
export const ApiKeyRevoked = loose({
  id: z.number(),
  name: z.string(),
  created_at: z.string(),
  created_by: z.string(),
  last_used_at: z.string().optional(),
  last_used_from_addr: z.string().optional(),
  project_id: z.string().optional(),
  revoked: z.boolean(),
});
export type ApiKeyRevoked = z.infer<typeof ApiKeyRevoked>;
