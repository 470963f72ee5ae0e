import { type Due, fallenDue } from "./due.ts";

/** Memory of an object as a reconcile begins. Times in monotonic milliseconds. */
export interface Beginning<Failed> {
  requeue: Due;
  /** A list counts for a plan if it began after this. */
  listsAfter: number;
  /** The requests of a person that lists since are for. */
  asked: string | undefined;
  failed: Failed | undefined;
}

/**
 * The memory once a reconcile has begun. A requeue that fell due needs a list from then, unless it `isListed`: a list
 * is expected anyway, or has come in with what the requeue is for. A person's new request needs one from now, and what
 * failed before is tried at once. `asks`: what a person requests; `undefined`: nothing that is not carried out yet.
 */
export function begun<Failed>(
  memory: Beginning<Failed>,
  { asks, isListed = false }: { asks: string | undefined; isListed?: boolean },
  now: number,
): Beginning<Failed> {
  const dueAt = fallenDue(memory.requeue, now);
  const requeue = dueAt === undefined ? memory.requeue : { ...memory.requeue, dueAt: undefined };
  if (asks !== undefined && asks !== memory.asked) return { requeue, listsAfter: now, asked: asks, failed: undefined };
  const listsAfter = dueAt === undefined || isListed ? memory.listsAfter : Math.max(memory.listsAfter, dueAt);
  return { ...memory, requeue, listsAfter };
}
