import type { ListChanges } from "./list-changes.ts";

/** Which Computes use a project, which endpoint each is linked to, and which of them wait for the next list. */
export class ProjectUsers {
  readonly #links = new Map<string, string | undefined>();
  readonly #waiting = new Set<string>();

  get size(): number {
    return this.#links.size;
  }

  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  use(uid: string, endpointID: string | undefined): void {
    this.#links.set(uid, endpointID);
  }

  leave(uid: string): void {
    this.#links.delete(uid);
    this.#waiting.delete(uid);
  }

  wait(uid: string): void {
    this.#waiting.add(uid);
  }

  linkedTo(endpointID: string): string[] {
    return [...this.#links].filter(([, linked]) => linked === endpointID).map(([uid]) => uid);
  }

  /** The Computes that wait; they wait no more. */
  takeWaiting(): Set<string> {
    const waiting = new Set(this.#waiting);
    this.#waiting.clear();
    return waiting;
  }

  /** All Computes; none waits any more. */
  takeAll(): Set<string> {
    this.#waiting.clear();
    return new Set(this.#links.keys());
  }

  /** The Computes that a new list concerns: all that wait, and all that its changes affect. None waits any more. */
  takeAffected(changes: ListChanges): Set<string> {
    if (changes.kind === "structure") return this.takeAll();
    const affected = this.takeWaiting();
    for (const id of changes.ids) for (const uid of this.linkedTo(id)) affected.add(uid);
    return affected;
  }
}
