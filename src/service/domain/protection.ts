import { refusals } from "../refusal.ts";
import type { Branch } from "../store/branches.ts";

/** What the public service restricts on a protected branch, as the branch shows it. */
export const restrictedActions = [
  { name: "restore", reason: "branch is protected" },
  { name: "delete-rw-endpoint", reason: "branch is protected" },
] as const;

/** Refuses what would take away a protected branch, its state, or a way to reach it. */
export function refuseProtected({ isProtected }: Pick<Branch, "isProtected">, refused: string): void {
  if (isProtected) throw refusals.unprocessable(`${refused}: set protected to false first`);
}
