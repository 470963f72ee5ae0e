import type { Compute } from "../../../src/operator/resources/compute.ts";

/**
 * The conditions of a Compute as one line of the table: what each says, and the reason that they share. Ready and
 * Synced have one message, which the others do not repeat.
 */
export function conditions({ status }: Compute): Record<string, string> {
  const shown = status.conditions ?? [];
  const reasons = new Set(shown.map(({ reason }) => reason));
  const [message, same, ...short] = shown.map((one) => one.message);
  if (reasons.size !== 1 || message !== same || short.includes(message ?? ""))
    throw new Error(`reasons or messages are not as they should be: ${JSON.stringify(shown)}`);
  const verdicts = shown.map(({ type, status: condition }) => [type, condition] as const);
  return { ...Object.fromEntries(verdicts), reason: [...reasons][0] ?? "" };
}

/** A row of the table for each kind of reason. */
export const settled = (reason: string) => ({ Ready: "True", Synced: "True", reason });
export const inProgress = (reason: string) => ({ Ready: "False", Synced: "False", Reconciling: "True", reason });
export const sameSpec = (reason: string) => ({ ...inProgress(reason), Synced: "True" });
export const unseen = (reason: string) => ({ ...inProgress(reason), Synced: "Unknown" });
export const stalled = (reason: string) => ({ Ready: "False", Synced: "False", Stalled: "True", reason });

/** The message of Ready and Synced. */
export function said({ status }: Compute): string {
  return status.conditions?.[0]?.message ?? "";
}

/** The first version of a Compute that showed this reason. */
export function showing(history: readonly Compute[], reason: string): Compute {
  const found = history.find(({ status }) => status.conditions?.[0]?.reason === reason);
  if (found === undefined) throw new Error(`it never showed ${reason}, but ${reasonsIn(history).join(", ")}`);
  return found;
}

/** The reasons that it has shown, in order, each once until the next. */
export function reasonsIn(history: readonly Compute[]): string[] {
  const reasons = history.flatMap(({ status }) => status.conditions?.[0]?.reason ?? []);
  return reasons.filter((reason, index) => reason !== reasons[index - 1]);
}
