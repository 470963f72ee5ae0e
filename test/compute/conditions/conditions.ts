import type { Compute } from "../../../src/operator/resources/compute.ts";

/** The conditions of a Compute as one line of the table: what each says, and the reason that they share. */
export function conditions({ status }: Compute): Record<string, string> {
  const shown = status.conditions ?? [];
  const reasons = new Set(shown.map(({ reason }) => reason));
  const messages = new Set(shown.map(({ message }) => message));
  if (reasons.size !== 1 || messages.size !== 1) throw new Error(`they disagree: ${JSON.stringify(shown)}`);
  const verdicts = shown.map(({ type, status: verdict }) => [type, verdict] as const);
  return { ...Object.fromEntries(verdicts), reason: [...reasons][0] ?? "" };
}

/** The message that the conditions share. */
export function said({ status }: Compute): string {
  return status.conditions?.[0]?.message ?? "";
}
