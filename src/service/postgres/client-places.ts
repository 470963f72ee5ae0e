import { ownerOf, presentOwnerOf } from "../accounts/owner.ts";
import { madeOnce } from "../made-once.ts";
import { jointly, type Shares } from "../sharing/shares.ts";
import type { DrivenService } from "./driven-service.ts";
import type { Session } from "./fleet/sessions.ts";

/** Parts of budgets that clients hold who have logged in, each in the name of the owner of its compute. */
export class ClientPlaces {
  readonly #service: Pick<DrivenService, "context">;
  readonly #budgets: readonly Pick<Shares, "of">[];
  readonly #places = new Map<Session, ReturnType<typeof jointly>>();
  #moves: number;

  constructor(service: Pick<DrivenService, "context" | "onChange">, budgets: readonly Pick<Shares, "of">[]) {
    this.#service = service;
    this.#budgets = budgets;
    this.#moves = service.context.store.projects.moves;
    service.onChange(() => this.#follow());
  }

  /** False, and nothing taken, where the owner has its share of a budget. */
  take(session: Session): boolean {
    const owner = ownerOf(this.#service.context.store, session.endpointId);
    const place = jointly(...this.#budgets.map((budget) => budget.of(owner)));
    if (!place.take(1)) return false;
    this.#places.set(session, place);
    return true;
  }

  release(session: Session): void {
    this.#places.get(session)?.release();
    this.#places.delete(session);
  }

  /** A project goes to another owner with its clients: the former one could not end them. */
  #follow(): void {
    const { store } = this.#service.context;
    if (store.projects.moves === this.#moves) return;
    this.#moves = store.projects.moves;
    const owners = new Map<string, string | undefined>();
    for (const [{ endpointId }, place] of this.#places)
      place.moveTo(madeOnce(owners, endpointId, () => presentOwnerOf(store, endpointId)));
  }
}
