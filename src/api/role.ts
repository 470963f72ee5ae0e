import { z } from "zod";
import { loose } from "./loose.ts";
import { Operation } from "./operation.ts";

/** `POST …/roles/{role}/reset_password`: the only answer that shows a password where passwords are not stored. */
export const RolePasswordAnswer = loose({
  role: loose({ name: z.string().min(1), password: z.string().min(1) }),
  operations: z.array(Operation).optional(),
});
export type RolePasswordAnswer = z.infer<typeof RolePasswordAnswer>;
