import type { ServiceWrite } from "./records.ts";
import { serviceURL } from "./workload.ts";

/** After a 423 a project's writes go one at a time for so long, in milliseconds. */
const oneByOneForMs = 600_000;

/**
 * How many writes to one project a term of leadership has under way: one where the service shows no names, and one for
 * ten minutes after the service refused a write with 423.
 */
export class WindowGuard {
  readonly #namesShown: boolean;
  readonly #report: (promise: string, message: string) => void;
  /** Writes without an answer, by term and project. */
  readonly #underWay = new Map<string, Set<ServiceWrite>>();
  /** When the service last refused a write with 423, by term and project. */
  readonly #refusedAt = new Map<string, number>();

  constructor(namesShown: boolean, report: (promise: string, message: string) => void) {
    this.#namesShown = namesShown;
    this.#report = report;
  }

  /** `term` names the process and its term of leadership. */
  sent(write: ServiceWrite, term: string): void {
    const key = `${term} ${write.service} ${write.project}`;
    const before = [...(this.#underWay.get(key) ?? [])];
    for (const { heard, endedAt } of before) {
      if (heard === 423 && endedAt !== undefined) this.#refusedAt.set(key, endedAt);
    }
    const others = before.filter(({ endedAt }) => endedAt === undefined);
    this.#underWay.set(key, new Set([...others, write]));
    if (others.length === 0) return;
    const refusedAt = this.#refusedAt.get(key);
    const what = `${term} sent a ${write.kind} to ${write.project} beside ${others.length} others`;
    if (!this.#namesShown && write.service === serviceURL)
      this.#report("one write at a time", `${what}, where no names are shown`);
    else if (refusedAt !== undefined && write.sentAt - refusedAt < oneByOneForMs)
      this.#report("one write at a time", `${what}, ${write.sentAt - refusedAt} ms after a 423`);
  }
}
