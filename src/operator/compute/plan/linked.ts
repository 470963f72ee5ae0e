import { type Operation, operationOutcome } from "../../../api/operation.ts";
import { claimOnBranch, claimOnEndpoint } from "../observe/claims.ts";
import { type Link, type Proof, recordedID } from "../observe/link.ts";
import { createMarkOf } from "../observe/marks.ts";
import { annotation, generationOf, isGuarded, type List, shownReason, type View, who } from "../observe/view.ts";
import { isProgress, nextLook, type Progress } from "../reasons.ts";
import type { Step } from "../step.ts";
import { deleteDueInMs } from "./deletes.ts";
import { type Attributes, type Comparison, compare, type Difference, merged, withBothEnds } from "./fields.ts";
import { anotherMayArrive, markToKeep, pendingMark } from "./pending.ts";
import type { Rule } from "./rule.ts";
import { wantedSpec } from "./wanted.ts";

/** Two endpoints with our marker: a create took effect long after it was given up. The other is ours, and goes. */
export const surplusEndpoint: Rule = (view, { links }) => {
  const extra = links.surplus.find(({ id }) => deleteDueInMs(view, id) === 0);
  return extra === undefined ? undefined : { step: "delete", endpointID: extra.id, why: "surplus" };
};

/** Another Compute has the better right to the endpoint that we are linked to. */
export const takenEndpoint: Rule = ({ compute, rivals }, { links, endpoints }) => {
  if (links.link === undefined) return undefined;
  const { endpoint } = links.link;
  const claim = claimOnEndpoint(compute, endpoint, rivals, endpoints);
  if (claim.kind !== "taken") return undefined;
  return {
    step: "refuse",
    reason: "Conflict",
    message: `Endpoint ${endpoint.id} belongs to ${who(claim.by)}. Nothing is sent for this one: delete either, or remove the annotation compute-operator.dev/endpoint-id here to have an endpoint of its own.`,
    foreign: true,
  };
};

/** What is linked can never become what is declared: the link was copied, or typed, from a Compute of another type. */
export const linkOfAnotherType: Rule = ({ compute: { spec } }, { links }) => {
  const { endpoint } = links.link ?? {};
  if (endpoint === undefined || endpoint.type === spec.type) return undefined;
  return {
    step: "refuse",
    reason: "AdoptionRefused",
    message: `Endpoint ${endpoint.id}, which the annotation compute-operator.dev/endpoint-id names, is of type ${endpoint.type}, and spec.type is ${spec.type}. Nothing is sent for it: remove the annotation to have an endpoint of its own, or make another Compute of that type.`,
    foreign: true,
  };
};

/** Finalizer and link are put back wherever they are missing, and marks that have done their work taken away. */
export const linkInOrder: Rule = (view, { links }) => {
  const { compute } = view;
  if (links.link === undefined) return undefined;
  const { endpoint } = links.link;
  const proof = links.link.proof === "none" ? proofBefore(view, endpoint.id) : links.link.proof;
  const recorded = annotation(compute, "endpointID") === endpoint.id;
  const pending = createMarkOf(compute) !== undefined;
  const kept = markToKeep(view, proof);
  if (recorded && isGuarded(compute) && (!pending || kept.keepsMark !== undefined)) return undefined;
  const created = pending && recordedID(compute) !== endpoint.id;
  return {
    step: "link",
    endpointID: endpoint.id,
    proof,
    news: created ? "created" : "none",
    ...kept,
  };
};

/**
 * What kubectl replace dropped is put back also while the service cannot be seen, or a deletion would not wait. A link
 * is not checked here: it is what the status has, and nothing is concluded from it.
 */
export function putBack(view: View): Step | undefined {
  const { compute } = view;
  if (isGuarded(compute)) return undefined;
  const endpointID = recordedID(compute);
  const mark = pendingMark(view);
  if (endpointID !== undefined) {
    const kept = mark === undefined ? {} : { keepsMark: mark };
    return { step: "link", endpointID, proof: proofBefore(view, endpointID), news: "none", ...kept };
  }
  return mark === undefined ? undefined : { step: "remark", mark };
}

/** The proof that went together with our finalizer, as by kubectl replace; a person who means it takes it alone. */
function proofBefore({ compute, memory }: View, endpointID: string): Proof {
  if (isGuarded(compute) || memory.proved?.endpointID !== endpointID) return "none";
  // What spec.adopt no longer names is no longer adopted.
  const { proof } = memory.proved;
  return proof === "adopted" && compute.spec.adopt === undefined ? "none" : proof;
}

/** A POST was answered with this endpoint, and its link could not be written: lists may show no name, or lag. */
export const unrecorded: Rule = (view, { links }) => {
  const { proved } = view.memory;
  if (proved === undefined || proved.proof === "adopted" || links.link !== undefined) return undefined;
  if (recordedID(view.compute) === proved.endpointID) return undefined;
  return { step: "link", ...proved, news: "created", ...markToKeep(view, proved.proof) };
};

/** What we began goes on: nothing else is begun, and the service's own waking and suspending is none of it. */
export const runningWrite: Rule = ({ compute }, { links, operations }) => {
  if (links.link === undefined) return undefined;
  const { endpoint } = links.link;
  const ours = operations.find(({ status }) => operationOutcome(status) === "in-progress");
  const shown = shownReason(compute);
  const begun: Progress | undefined = isProgress(shown) ? shown : undefined;
  const changing = begun !== undefined && endpoint.pending_state !== undefined;
  const [newest] = operations;
  // One whose start failed may stay in this state for ever: that is for rule `settle` to tell.
  const comingUp = endpoint.current_state === "init" && (newest === undefined || !hasFailed(newest));
  if (ours === undefined && !changing && !comingUp) return undefined;
  const progress =
    begun ??
    (endpoint.current_state === "init" ? "Creating" : ours?.action === "start_compute" ? "Starting" : "Updating");
  return { step: "wait", reason: progress, message: progressMessage(progress, endpoint.id) };
};

function hasFailed({ status }: Operation): boolean {
  return operationOutcome(status) === "failed";
}

export function progressMessage(progress: Progress, endpointID: string): string {
  switch (progress) {
    case "Creating":
      return `Endpoint ${endpointID} was created and is being started by the service.`;
    case "Starting":
      return `Endpoint ${endpointID} is being started by the service.`;
    case "Updating":
      return `A change of endpoint ${endpointID} was accepted and is being carried out by the service.`;
    case "Moving":
      return `Endpoint ${endpointID} is being moved to another branch by the service.`;
    case "Restarting":
      return `Endpoint ${endpointID} is being restarted by the service.`;
  }
}

/** Sends what differs from the spec, in one PATCH. */
export const changes: Rule = (view, list) => {
  const { link } = list.links;
  if (link === undefined) return undefined;
  const comparison = compare(wantedSpec(view.compute), link.endpoint);
  const unseen = notShownYet(comparison.differences, view);
  if (unseen !== undefined) return unseen;
  const { edited, drift } = since(view);
  const edits = comparison.differences.filter((difference) => isToBeSent(difference, edited, drift, view));
  const differences = withBothEnds(edits, comparison.differences);
  const unechoed = edited ? [...comparison.unechoed, ...sendable(comparison, differences)] : [];
  if (differences.length === 0 && unechoed.length === 0) return undefined;
  const refused =
    notKept(differences, view) ?? tugOfWar(differences, edited, view) ?? blockedMove(differences, view, list);
  if (refused !== undefined) return refused;
  return patchOf(link, { differences, unechoed }, edited);
};

/**
 * Whether the spec was edited since the service was last brought to it, and what was reported as drift since. Where a
 * wiped status no longer says so, `Report` waits for the next edit: it shows what differs, and sends nothing.
 */
function since({ compute: { status, spec, metadata }, memory }: View): {
  edited: boolean;
  drift: readonly Difference[];
} {
  const { appliedGeneration, drift = [] } = status;
  const known = appliedGeneration === undefined ? memory.applied : { generation: appliedGeneration, drift };
  if (known === undefined) return { edited: spec.driftPolicy === "Correct", drift: [] };
  return { edited: known.generation < (metadata.generation ?? 0), drift: known.drift };
}

/**
 * `Correct` sends whatever differs. `Report` sends what a newer generation changed: all that differs but what was
 * already reported as drift for the same value of ours.
 */
function isToBeSent(
  { field, ours }: Difference,
  edited: boolean,
  drift: readonly Difference[],
  { compute }: View,
): boolean {
  if (compute.spec.driftPolicy === "Correct") return true;
  return edited && !drift.some((told) => told.field === field && told.ours === ours);
}

/** What cannot be read is sent once for each generation, as what is not shown at all. */
function sendable({ unreadable }: Comparison, differences: readonly Difference[]): Comparison["unechoed"] {
  return unreadable.flatMap(({ field, ours, send }) =>
    send === undefined || differences.some((difference) => difference.field === field) ? [] : [{ field, ours, send }],
  );
}

function patchOf(
  link: Link,
  { differences, unechoed }: Pick<Comparison, "differences" | "unechoed">,
  edited: boolean,
): Step {
  const attributes: Attributes = merged([...differences, ...unechoed].map(({ send }) => send));
  const moves = attributes.branch_id !== undefined;
  return {
    step: "patch",
    endpointID: link.endpoint.id,
    attributes,
    fields: [...differences, ...unechoed].map(({ field }) => field),
    progress: moves ? "Moving" : "Updating",
    corrects: edited ? [] : differences.map(({ field, ours, theirs }) => ({ field, ours, theirs })),
  };
}

/** Those of the differences that an accepted PATCH of this generation was to end. */
function stillAfterPatch(differences: readonly Difference[], { memory: { patched }, compute }: View): Difference[] {
  if (patched === undefined || patched.generation !== generationOf(compute)) return [];
  return differences.filter(({ field }) => patched.fields.includes(field));
}

/** Lists may lag behind what the service has accepted: by two of them nothing is held against it, nor called drift. */
function notShownYet(differences: readonly Difference[], view: View): Step | undefined {
  if (stillAfterPatch(differences, view).length === 0 || (view.memory.patched?.listsWithout.length ?? 0) >= 2) {
    return undefined;
  }
  return { step: "wait", reason: "Updating", message: "A change was accepted; the service does not show it yet." };
}

/** Two lists after an accepted PATCH still differ in what it sent: the service takes the field and does not keep it. */
function notKept(differences: readonly Difference[], view: View): Step | undefined {
  const { memory, now } = view;
  const { patched } = memory;
  const still = stillAfterPatch(differences, view);
  if (patched === undefined || still.length === 0) return undefined;
  const againAt = patched.at + (nextLook("slow", patched.tries) ?? 0);
  if (now >= againAt) return undefined;
  const what = still.map(({ field, ours, theirs }) => `${field} (ours ${ours}, theirs ${theirs})`).join(", ");
  return {
    step: "refuse",
    reason: "Rejected",
    message: `The service accepts and does not keep ${what}. Set what it keeps, or leave the field out. It is tried again ever more rarely, at the longest hourly.`,
    lookInMs: againAt - now,
  };
}

/** Corrections of one generation in the last ten minutes that are still taken for coincidence. */
const mostCorrections = 4;
const correctionsCountForMs = 600_000;

function tugOfWar(
  differences: readonly Difference[],
  edited: boolean,
  { memory, compute, now }: View,
): Step | undefined {
  if (edited) return undefined;
  const recent = memory.corrections.filter(
    ({ generation, at }) => generation === generationOf(compute) && now - at < correctionsCountForMs,
  );
  if (recent.length < mostCorrections) return undefined;
  const what = differences.map(({ field, ours, theirs }) => `${field} (ours ${ours}, theirs ${theirs})`).join(", ");
  return {
    step: "refuse",
    reason: "Rejected",
    message: `Something else keeps changing ${what} at the service. Find it and stop it, or leave the field out here.`,
    lookInMs: correctionsCountForMs,
  };
}

/** A primary moves onto a branch only when that is free. */
function blockedMove(differences: readonly Difference[], view: View, list: List): Step | undefined {
  const { compute, rivals } = view;
  if (compute.spec.type !== "read_write" || !differences.some(({ field }) => field === "branchID")) return undefined;
  const { link } = list.links;
  // While it stands there, the service refuses what may yet arrive of an earlier POST.
  if (link !== undefined && anotherMayArrive(view, link.proof)) {
    const message = "The move waits until no other create that was sent for this Compute can take effect any more.";
    return { step: "wait", reason: "Moving", message, lookInMs: 5000 };
  }
  const claim = claimOnBranch(compute, rivals, list.endpoints);
  const { branchID } = compute.spec;
  switch (claim.kind) {
    case "free":
      return undefined;
    case "taken":
      return {
        step: "refuse",
        reason: "Conflict",
        message: `${who(claim.by)} has the better claim to the primary of branch ${branchID}. The endpoint stays where it is: name another branch, or delete that Compute.`,
      };
    case "swap":
      return {
        step: "refuse",
        reason: "Conflict",
        message: `This Compute and ${who(claim.by)} want each other's branch, and a branch has room for one primary: no order of moves is possible. Move one of them to a third branch first.`,
      };
    case "leaving":
      return {
        step: "wait",
        reason: "Moving",
        message: `The move to branch ${branchID} waits until ${who(claim.by)} has given it up.`,
      };
    case "unowned":
      return {
        step: "refuse",
        reason: "PrimaryExists",
        message: `Branch ${branchID} has the primary ${claim.endpoint.id}, which no Compute owns: the endpoint cannot be moved there. Delete it at the service, or name another branch.`,
      };
  }
}
