import type { ListChanges } from "./list-changes.ts";

/** Which Computes use a project, which endpoint each is linked to, and which of them wait for the next list. */
export class ProjectUsers {
  readonly #links = new Map<string, string | undefined>();
  /** Without it, a list in which every endpoint changed would cost the square of their number. */
  readonly #linkedTo = new Map<string, Set<string>>();
  readonly #waiting = new Set<string>();

  get size(): number {
    return this.#links.size;
  }

  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  use(uid: string, endpointID: string | undefined): void {
    if (this.#links.get(uid) !== endpointID) this.#unlink(uid);
    this.#links.set(uid, endpointID);
    if (endpointID === undefined) return;
    const linked = this.#linkedTo.get(endpointID) ?? new Set();
    this.#linkedTo.set(endpointID, linked.add(uid));
  }

  leave(uid: string): void {
    this.#unlink(uid);
    this.#links.delete(uid);
    this.#waiting.delete(uid);
  }

  wait(uid: string): void {
    this.#waiting.add(uid);
  }

  linkedTo(endpointID: string): string[] {
    return [...(this.#linkedTo.get(endpointID) ?? [])];
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

  #unlink(uid: string): void {
    const endpointID = this.#links.get(uid);
    if (endpointID === undefined) return;
    const linked = this.#linkedTo.get(endpointID);
    linked?.delete(uid);
    if (linked?.size === 0) this.#linkedTo.delete(endpointID);
  }
}
