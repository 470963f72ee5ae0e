import { markOf, type ServiceWrite } from "./records.ts";

/**
 * No plan on an old list: before a process writes to an endpoint again, it begins a list after its last write to it
 * ended. Two answers to that write stand in for a list: a refusal that proves that nothing was done; and a 2xx to a
 * create or a patch, which shows the whole endpoint, unless the next write deletes, restarts or creates.
 */
export class ListGuard {
  readonly #report: (promise: string, message: string) => void;
  /** When the newest list that a process has of a project was begun. */
  readonly #listedAt = new Map<string, number>();
  readonly #writes: ServiceWrite[] = [];

  constructor(report: (promise: string, message: string) => void) {
    this.#report = report;
  }

  /** A complete list reached a process. */
  listed(process: string, service: string, project: string, begunAt: number): void {
    const key = `${process} ${service} ${project}`;
    this.#listedAt.set(key, Math.max(begunAt, this.#listedAt.get(key) ?? 0));
  }

  sent(write: ServiceWrite): void {
    const { process, service, project, kind } = write;
    const listedAt = this.#listedAt.get(`${process} ${service} ${project}`);
    const last = this.#writes.findLast(
      (other) => other.process === process && isSame(other, write) && !wasNotCarriedOut(other),
    );
    this.#writes.push(write);
    const what = `${kind} of ${write.endpointID ?? markOf(write)} by ${process}`;
    if (listedAt === undefined) this.#report("fresh lists", `${what} without any list`);
    else if (last !== undefined && !standsInFor(last, kind) && listedAt < (last.endedAt ?? Number.POSITIVE_INFINITY))
      this.#report("fresh lists", `${what} on a list from before the ${last.kind} ended`);
  }

  /** Drops writes that were sent before that. */
  forget(before: number): void {
    const kept = this.#writes.filter(({ sentAt }) => sentAt >= before);
    this.#writes.splice(0, this.#writes.length, ...kept);
  }
}

/** Whether the answer to the last write shows what a list would, for a write of this kind. */
function standsInFor({ kind, heard }: ServiceWrite, next: ServiceWrite["kind"]): boolean {
  const showsAll = (kind === "create" && heard === 201) || (kind === "patch" && heard === 200);
  return showsAll && next === "patch";
}

/** 423, 429 and 503 in the service's own words prove that nothing was done. */
function wasNotCarriedOut({ heard }: ServiceWrite): boolean {
  return heard === 423 || heard === 429 || heard === 503;
}

function isSame(one: ServiceWrite, other: ServiceWrite): boolean {
  if (one.endpointID !== undefined && one.endpointID === other.endpointID) return true;
  return one.kind === "create" && other.kind === "create" && markOf(one) === markOf(other);
}
