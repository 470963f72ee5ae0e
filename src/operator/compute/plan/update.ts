import type { Link } from "../observe/ownership.ts";
import { generationOf, type PlanInput } from "../observe/plan-input.ts";
import * as messages from "../status/messages/conditions.ts";
import { requeueDelay } from "../status/reasons.ts";
import type { Action } from "./action.ts";
import { desiredSpec } from "./desired-spec.ts";
import { type Attributes, type Comparison, compare, type Difference, merged, withBothEnds } from "./fields.ts";
import { blockedMove } from "./move.ts";
import type { Rule } from "./rule.ts";

/** Sends what differs from the spec, in one PATCH. */
export const updateFields: Rule = (view, list) => {
  const { link } = list.links;
  if (link === undefined) return undefined;
  const comparison = compare(desiredSpec(view.compute), link.endpoint);
  const unseen = notShownYet(comparison.differences, view);
  if (unseen !== undefined) return unseen;
  const { edited, drift } = since(view, link.endpoint.id);
  const edits = comparison.differences.filter((difference) => isToBeSent(difference, edited, drift, view));
  const differences = withBothEnds(edits, comparison.differences);
  const notReturned = edited ? [...comparison.notReturned, ...sendable(comparison, differences)] : [];
  if (differences.length === 0 && notReturned.length === 0) return undefined;
  const refused =
    fieldNotPersisted(differences, view) ?? tugOfWar(differences, edited, view) ?? blockedMove(differences, view, list);
  if (refused !== undefined) return refused;
  return patchOf(link, { differences, notReturned }, edited);
};

/**
 * Whether the spec was edited since the service was last brought to it, and what was reported as drift since. Where a
 * wiped status no longer says so, `Report` waits for the next edit: it shows what differs, and sends nothing.
 */
function since(
  { compute: { status, spec, metadata }, memory }: PlanInput,
  endpointID: string,
): { edited: boolean; drift: readonly Difference[] } {
  const { appliedGeneration, drift = [] } = status;
  const known = appliedGeneration === undefined ? memory.applied : { generation: appliedGeneration, drift };
  if (known === undefined) return { edited: spec.driftPolicy === "Correct", drift: [] };
  const accepted = memory.accepted?.endpointID === endpointID ? memory.accepted.generation : known.generation;
  return { edited: Math.max(known.generation, accepted) < (metadata.generation ?? 0), drift: known.drift };
}

/**
 * `Correct` sends whatever differs. `Report` sends what a newer generation changed: all that differs but what was
 * already reported as drift for the same value of ours.
 */
function isToBeSent(
  { field, ours }: Difference,
  edited: boolean,
  drift: readonly Difference[],
  { compute }: PlanInput,
): boolean {
  if (compute.spec.driftPolicy === "Correct") return true;
  return edited && !drift.some((told) => told.field === field && told.ours === ours);
}

/** What cannot be read is sent once for each generation, as what is not shown at all. */
function sendable({ unreadable }: Comparison, differences: readonly Difference[]): Comparison["notReturned"] {
  return unreadable.flatMap(({ field, ours, send }) =>
    send === undefined || differences.some((difference) => difference.field === field) ? [] : [{ field, ours, send }],
  );
}

function patchOf(
  link: Link,
  { differences, notReturned }: Pick<Comparison, "differences" | "notReturned">,
  edited: boolean,
): Action {
  const attributes: Attributes = merged([...differences, ...notReturned].map(({ send }) => send));
  const moves = attributes.branch_id !== undefined;
  return {
    kind: "patch",
    endpointID: link.endpoint.id,
    attributes,
    fields: [...differences, ...notReturned].map(({ field }) => field),
    progress: moves ? "Moving" : "Updating",
    corrects: edited ? [] : differences.map(({ field, ours, theirs }) => ({ field, ours, theirs })),
  };
}

/** Those of the differences that an accepted PATCH of this generation was to end. */
function stillAfterPatch(
  differences: readonly Difference[],
  { memory: { patched }, compute }: PlanInput,
): Difference[] {
  if (patched === undefined || patched.generation !== generationOf(compute)) return [];
  return differences.filter(({ field }) => patched.fields.includes(field));
}

/** Lists may lag behind what the service has accepted: by two of them nothing is held against it, nor called drift. */
function notShownYet(differences: readonly Difference[], view: PlanInput): Action | undefined {
  if (stillAfterPatch(differences, view).length === 0 || (view.memory.patched?.listsWithout.length ?? 0) >= 2) {
    return undefined;
  }
  return { kind: "wait", reason: "Updating", message: messages.updating.notShownYet };
}

/** Two lists after an accepted PATCH still differ in what it sent: the service takes the field and does not keep it. */
function fieldNotPersisted(differences: readonly Difference[], view: PlanInput): Action | undefined {
  const { memory, now } = view;
  const { patched } = memory;
  const still = stillAfterPatch(differences, view);
  if (patched === undefined || still.length === 0) return undefined;
  const againAt = patched.at + (requeueDelay("slow", patched.tries) ?? 0);
  if (now >= againAt) return undefined;
  return {
    kind: "blocked",
    reason: "Rejected",
    message: messages.notPersisted(still),
    requeueAfterMs: againAt - now,
  };
}

/** Corrections of one generation in the last ten minutes that are still taken for coincidence. */
const mostCorrections = 4;
const correctionsCountForMs = 600_000;

function tugOfWar(
  differences: readonly Difference[],
  edited: boolean,
  { memory, compute, now }: PlanInput,
): Action | undefined {
  if (edited) return undefined;
  const recent = memory.corrections.filter(
    ({ generation, at }) => generation === generationOf(compute) && now - at < correctionsCountForMs,
  );
  if (recent.length < mostCorrections) return undefined;
  return {
    kind: "blocked",
    reason: "Rejected",
    message: messages.tugOfWar(differences),
    requeueAfterMs: correctionsCountForMs,
  };
}
