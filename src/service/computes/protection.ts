import { refusals } from "../refusal.ts";
import type { Branch } from "../store/branches.ts";

/** Actions that the public service restricts on a protected branch, in the branch's own form. */
export const restrictedActions = [
  { name: "restore", reason: "branch is protected" },
  { name: "delete-rw-endpoint", reason: "branch is protected" },
] as const;

/** Refuses what would remove a protected branch, its state, or the way to reach it. */
export function refuseProtected({ isProtected }: Pick<Branch, "isProtected">, refused: string): void {
  if (isProtected) throw refusals.unprocessable(`${refused}: set protected to false first`);
}
