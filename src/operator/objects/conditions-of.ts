import { z } from "zod";
import { printableLine } from "./printable-line.ts";

/** A condition before it is known since when it holds. */
export type ConditionDraft = Omit<Condition, "lastTransitionTime">;

/** Dates conditions: one whose status is as it was keeps its time, any other changed at `now` (RFC 3339). */
export function datedConditions(
  drafts: readonly ConditionDraft[],
  before: readonly Condition[] | undefined,
  now: string,
): Condition[] {
  return drafts.map((draft) => {
    const old = before?.find(({ type }) => type === draft.type);
    const kept = old !== undefined && old.status === draft.status && old.lastTransitionTime !== "";
    return { ...draft, lastTransitionTime: kept ? old.lastTransitionTime : now };
  });
}

/** The condition of this type, where there is one. */
export function conditionOf(
  status: { conditions?: readonly Condition[] | undefined },
  type: string,
): Condition | undefined {
  return status.conditions?.find((condition) => condition.type === type);
}

/** True if the status shows this condition as true. */
export function isTrue(status: Parameters<typeof conditionOf>[0], type: string): boolean {
  return conditionOf(status, type)?.status === "True";
}

/** The condition that says how an object is: Ready, or Expired where an end that was declared left no Ready. */
export function shownCondition({ status }: { status: Parameters<typeof conditionOf>[0] }): Condition | undefined {
  return conditionOf(status, "Ready") ?? conditionOf(status, "Expired");
}

/** The reason that a status shows. */
export function shownReason({ status }: { status: Parameters<typeof conditionOf>[0] }): string | undefined {
  return shownCondition({ status })?.reason;
}

/** True if the object ended as it was declared to. */
export function hasEnded({ status }: { status: Parameters<typeof conditionOf>[0] }): boolean {
  return isTrue(status, "Expired");
}

/** The value of the label `ready` of metrics: the status of the condition Ready. */
export function readyLabel(object: { status: Parameters<typeof conditionOf>[0] }): string {
  return hasEnded(object) ? "Expired" : (conditionOf(object.status, "Ready")?.status ?? "Unknown");
}

const shortMessages = {
  Reconciling: "In progress: see the condition Ready.",
  Stalled: "A person has to act: see the condition Ready.",
} as const;

/**
 * The condition Reconciling or Stalled beside Ready, whose reason it shares. Only tools read it: with the whole message
 * `kubectl describe` would show that once for each condition.
 */
export function besideReady(
  type: keyof typeof shortMessages,
  ready: Pick<ConditionDraft, "reason" | "observedGeneration">,
): ConditionDraft {
  return { ...ready, type, status: "True", message: shortMessages[type] };
}

/** The longest message of a condition or event, in bytes. */
const longestMessage = 1024;

/** A message within what a condition may hold, and on one line: names of others may be in it. */
export function clippedMessage(text: string): string {
  const message = printableLine(text);
  const bytes = Buffer.from(message, "utf8");
  if (bytes.length <= longestMessage) return message;
  const clipped = bytes
    .subarray(0, longestMessage - 3)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
  return `${clipped}…`;
}

/** Names in a message, sorted, as many as fit into so many characters. */
export function clippedNames(names: Iterable<string>, most: number): string {
  const [first = "", ...rest] = [...names].toSorted();
  let text = first;
  for (const name of rest) {
    if (text.length + name.length + 2 > most) return `${text} and others`;
    text += `, ${name}`;
  }
  return text;
}

/** The time as the API server writes it, to the second. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** A condition as in metav1.Condition: one truth about an object, why, and since when. */
const condition = z.object({
  type: z.string().describe("What the condition is about, for example Ready."),
  status: z.string().describe("True, False or Unknown."),
  reason: z.string().describe("Why, in one word that programs can rely on."),
  message: z.string().describe("Why, in a sentence for a person: what happened, what comes next and what to do."),
  lastTransitionTime: z.string().describe("When the status last changed (RFC 3339)."),
  observedGeneration: z.int().optional().describe("The generation of the spec that the condition is about."),
});

export type Condition = z.output<typeof condition>;

/** The list of conditions of a status, merged by type. */
export const conditions = z.array(condition).meta({
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["type"],
});
