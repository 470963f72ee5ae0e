import { type Operation, operationOutcome } from "../../../api/operation.ts";
import type { Compute } from "../../resources/compute.ts";
import type { Memory } from "../memory.ts";
import { compare } from "../plan/fields.ts";
import { wantedSpec } from "../plan/wanted.ts";
import { hasArrived } from "./link.ts";
import { createMarkOf } from "./marks.ts";
import { generationOf, isGuarded, type List } from "./view.ts";

/** Remembers what a list newly tells: how long something has been missing, and whether a change has taken. */
export function takeNote(memory: Memory, compute: Compute, list: List, now: number): void {
  const { link } = list.links;
  if (link !== undefined && link.proof !== "none") {
    memory.proved = { endpointID: link.endpoint.id, proof: link.proof };
  }
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
export function noteApplied(memory: Memory, { status }: Compute): void {
  const { appliedGeneration, drift = [] } = status;
  if (appliedGeneration !== undefined) memory.applied = { generation: appliedGeneration, drift };
}

function noteMissing(memory: Memory, { links, startedAt }: List): void {
  const { missing } = links;
  if (missing === undefined) delete memory.missing;
  else if (memory.missing?.endpointID !== missing) {
    memory.missing = { endpointID: missing, firstListWithout: startedAt, proved: false };
  }
}

function noteCreate(memory: Memory, compute: Compute, list: List, now: number): void {
  const { links, startedAt } = list;
  const mark = createMarkOf(compute);
  if (mark === undefined) {
    // Gone together with our finalizer, as by kubectl replace, it is put back; a person who means it takes it alone.
    const dropped = memory.pendingCreate?.mark;
    const settled = dropped === undefined || (links.link !== undefined && hasArrived(dropped, links.link.proof));
    if (isGuarded(compute) || settled) delete memory.pendingCreate;
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
export function noteMark(memory: Memory, compute: Compute, now: number): void {
  const mark = createMarkOf(compute);
  if (mark === undefined) return;
  if (memory.pendingCreate?.since !== mark.since) memory.pendingCreate = { since: mark.since, seenAt: now };
  memory.pendingCreate.mark = mark;
}

function notePatched(memory: Memory, compute: Compute, { links, operations, startedAt }: List): void {
  const { patched } = memory;
  if (patched === undefined) return;
  if (patched.generation !== generationOf(compute) || links.link === undefined) {
    delete memory.patched;
    return;
  }
  // While it is being carried out, nothing is held against it.
  const { endpoint } = links.link;
  if (endpoint.pending_state !== undefined || operations.some(isInProgress)) return;
  const differs = compare(wantedSpec(compute), endpoint).differences.some(({ field }) =>
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
