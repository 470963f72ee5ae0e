import type { Clock } from "../runtime/clock.ts";
import type { Answer } from "../service-client/answer.ts";
import { isRefusal, opened, type Write } from "./record.ts";

/** Changes the record of one write in the memory of this term; `undefined`: there is none. */
export type Keep<W> = (change: (write: W | undefined) => W | undefined) => void;

/** A record when a success is answered: as it is now, and as it was before the request left. */
export interface Answered<W> {
  open: W;
  before: W | undefined;
  now: number;
}

export interface AttemptOptions<W, T> {
  clock: Pick<Clock, "monotonic">;
  keep: Keep<W>;
  /** The record of a request that is noted only as it leaves: in memory alone. */
  noted?: (before: W | undefined) => W;
  /** The kind that an answer counts as, where that is not its own. */
  meaning?: (answer: Answer<T>) => Pick<Answer<T>, "kind">;
  /** The record after a success; by default it stays open until a list closes it. `undefined`: it is forgotten. */
  accepted?: (answered: Answered<W>, value: T, answer: Answer<T>) => W | undefined;
}

/** One request that changes something at the service. */
export interface Sender<T> {
  send(call: () => Promise<Answer<T>>): Promise<Answer<T>>;
}

/**
 * A request with a record: opens the record as the request leaves, and concludes from the answer, in this order for
 * every kind of write. Where the call throws, the record stays open: the request may have left.
 */
export class Attempt<W extends Write<unknown>, T> implements Sender<T> {
  readonly #options: AttemptOptions<W, T>;

  constructor(options: AttemptOptions<W, T>) {
    this.#options = options;
  }

  async send(call: () => Promise<Answer<T>>): Promise<Answer<T>> {
    const { clock, keep, noted, meaning } = this.#options;
    let before: W | undefined;
    keep((write) => {
      before = write;
      const sent = noted?.(write) ?? write;
      return sent && opened(sent, clock.monotonic());
    });
    const answer = await call();
    const meant = meaning?.(answer) ?? answer;
    const now = clock.monotonic();
    keep((write) => {
      if (write === undefined || isRefusal(meant)) return before;
      return this.#ended(meant, answer, { open: opened(write, now), before, now });
    });
    return answer;
  }

  #ended({ kind }: Pick<Answer<T>, "kind">, answer: Answer<T>, answered: Answered<W>): W | undefined {
    const { accepted } = this.#options;
    if (kind !== "ok" || answer.kind !== "ok" || accepted === undefined) return answered.open;
    return accepted(answered, answer.value, answer);
  }
}
