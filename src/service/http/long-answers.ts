import type { ServerResponse } from "node:http";
import type { ServiceClock } from "../clock.ts";
import { type Refusal, refusals } from "../refusal.ts";
import type { Exchange } from "./exchange.ts";
import type { Shares } from "./shares.ts";

/** Length from which an answer is long, in characters: making one takes milliseconds, and most lists are shorter. */
const long = 65_536;

/** One call to be answered. */
export interface Answered {
  /** In whose name long answers are made and held. */
  caller: string;
  outgoing: ServerResponse;
  /** True if the call changes nothing: a refusal must not stand for what was done. */
  reads: boolean;
}

/**
 * Makes the long answers of a caller, such as lists of all that it has, each in a turn of the loop of its own: many at
 * once would keep everybody else waiting. Their bytes count in the budget until they are sent.
 */
export class LongAnswers {
  readonly #clock: Pick<ServiceClock, "after">;
  readonly #bytes: Shares;
  /** By caller with a long answer in this turn of the loop: the next one. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(clock: Pick<ServiceClock, "after">, bytes: Shares) {
    this.#clock = clock;
    this.#bytes = bytes;
  }

  async make({ caller, outgoing, reads }: Answered, answer: () => Exchange): Promise<Exchange | Refusal> {
    for (let turn = this.#turns.get(caller); turn; turn = this.#turns.get(caller)) await turn;
    const exchange = answer();
    const length = "reply" in exchange ? (exchange.reply.body?.length ?? 0) : 0;
    if (length < long) return exchange;
    this.#turns.set(caller, this.#nextTurn(caller));
    const holding = this.#bytes.of(caller);
    if (reads && !holding.take(length)) return refusals.noRoomForBytes();
    if (outgoing.destroyed) holding.release();
    else outgoing.once("close", () => holding.release());
    return exchange;
  }

  #nextTurn(caller: string): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(0, () => {
        this.#turns.delete(caller);
        resolve();
      });
    });
  }
}
