import { type Operation, operationOutcome } from "../../../api/operation.ts";
import type { Compute } from "../../resources/compute.ts";
import { desiredSpec } from "../plan/desired-spec.ts";
import { compare } from "../plan/fields.ts";
import type { ReconcileState } from "../state.ts";
import { hasArrived } from "./ownership.ts";
import { pendingCreateOf } from "./pending-operations.ts";
import { type EndpointSnapshot, generationOf, hasFinalizer } from "./plan-input.ts";

/** Remembers what a list newly tells: how long something has been missing, and whether a change has taken. */
export function takeNote(memory: ReconcileState, compute: Compute, list: EndpointSnapshot, now: number): void {
  const { link } = list.links;
  if (link !== undefined && link.proof !== "none") {
    memory.proved = { endpointID: link.endpoint.id, proof: link.proof };
  }
  if (link !== undefined && link.endpoint.id === memory.created?.endpointID) delete memory.created;
  for (const id of memory.answeredDeletes.keys()) {
    if (list.endpoints.byID(id) === undefined) memory.answeredDeletes.delete(id);
  }
  noteMissing(memory, list);
  if ((compute.status.unansweredDisables ?? 0) === 0) delete memory.unansweredDisableSince;
  else memory.unansweredDisableSince ??= now;
  noteCreate(memory, compute, list, now);
  notePatched(memory, compute, list);
}

/** Remembers what the status says was carried out, should it be wiped. */
export function noteApplied(memory: ReconcileState, { status }: Compute): void {
  const { appliedGeneration, drift = [] } = status;
  if (appliedGeneration !== undefined) memory.applied = { generation: appliedGeneration, drift };
}

function noteMissing(memory: ReconcileState, { links, startedAt }: EndpointSnapshot): void {
  const { missing } = links;
  if (missing === undefined) delete memory.missing;
  else if (memory.missing?.endpointID !== missing) {
    memory.missing = { endpointID: missing, firstListWithout: startedAt, proved: false };
  }
}

function noteCreate(memory: ReconcileState, compute: Compute, list: EndpointSnapshot, now: number): void {
  const { links, startedAt } = list;
  const mark = pendingCreateOf(compute);
  if (mark === undefined) {
    // Gone together with our finalizer, as by kubectl replace, it is put back; a person who means it takes it alone.
    const dropped = memory.pendingCreate?.mark;
    const settled = dropped === undefined || (links.link !== undefined && hasArrived(dropped, links.link.proof));
    if (hasFinalizer(compute) || settled) delete memory.pendingCreate;
    return;
  }
  if (links.link !== undefined && hasArrived(mark, links.link.proof)) {
    delete memory.pendingCreate;
    return;
  }
  noteMark(memory, compute, now);
  if (memory.pendingCreate !== undefined) memory.pendingCreate.firstListWithout ??= startedAt;
}

/** Remembers the mark of a create, should somebody drop it, and since when this process has known it. */
export function noteMark(memory: ReconcileState, compute: Compute, now: number): void {
  const mark = pendingCreateOf(compute);
  if (mark === undefined) return;
  if (memory.pendingCreate?.since !== mark.since) memory.pendingCreate = { since: mark.since, seenAt: now };
  memory.pendingCreate.mark = mark;
}

function notePatched(
  memory: ReconcileState,
  compute: Compute,
  { links, operations, startedAt }: EndpointSnapshot,
): void {
  const { patched } = memory;
  if (patched === undefined) return;
  if (patched.generation !== generationOf(compute) || links.link === undefined) {
    delete memory.patched;
    return;
  }
  // While it is being carried out, nothing is held against it.
  const { endpoint } = links.link;
  if (endpoint.pending_state !== undefined || operations.some(isInProgress)) return;
  const differs = compare(desiredSpec(compute), endpoint).differences.some(({ field }) =>
    patched.fields.includes(field),
  );
  if (!differs) delete memory.patched;
  else if (!patched.listsWithout.includes(startedAt)) {
    memory.patched = { ...patched, listsWithout: [...patched.listsWithout, startedAt].slice(-2) };
  }
}

function isInProgress({ status }: Operation): boolean {
  return operationOutcome(status) === "in-progress";
}
