import { markOf, type ServiceWrite } from "./records.ts";

/**
 * No plan on an old list: between two writes to one endpoint a process lists, and begins that after the first ended.
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
    const last = this.#writes.findLast((other) => other.process === process && isSame(other, write));
    this.#writes.push(write);
    const what = `${kind} of ${write.endpointID ?? markOf(write)} by ${process}`;
    if (listedAt === undefined) this.#report("fresh lists", `${what} without any list`);
    else if (last !== undefined && listedAt < (last.endedAt ?? Number.POSITIVE_INFINITY))
      this.#report("fresh lists", `${what} on a list from before the ${last.kind} ended`);
  }

  /** Drops writes that were sent before that. */
  forget(before: number): void {
    const kept = this.#writes.filter(({ sentAt }) => sentAt >= before);
    this.#writes.splice(0, this.#writes.length, ...kept);
  }
}

function isSame(one: ServiceWrite, other: ServiceWrite): boolean {
  if (one.endpointID !== undefined && one.endpointID === other.endpointID) return true;
  return one.kind === "create" && other.kind === "create" && markOf(one) === markOf(other);
}
