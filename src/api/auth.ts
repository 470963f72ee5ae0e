import { z } from "zod";
import { loose } from "./loose.ts";

/** `GET /auth`: whom the key speaks for. A service may lack the call. */
export const AuthAnswer = loose({
  account_id: z.string().optional(),
  /** `api_key_user` for a personal key, `api_key_org` for an organization's and for a project-scoped key. */
  auth_method: z.string(),
  auth_data: z.string().optional(),
});
export type AuthAnswer = z.infer<typeof AuthAnswer>;
