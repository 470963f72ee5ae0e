import type { ServerResponse } from "node:http";
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
  readonly #bytes: Shares;
  /** By caller with a long answer in this turn of the loop: when the last of its calls so far has had its turn. */
  readonly #turns = new Map<string, Promise<void>>();

  constructor(bytes: Shares) {
    this.#bytes = bytes;
  }

  async make(call: Answered, answer: () => Exchange): Promise<Exchange | Refusal> {
    const { caller } = call;
    const before = this.#turns.get(caller);
    const { promise: mine, resolve } = Promise.withResolvers<void>();
    const end = () => {
      if (this.#turns.get(caller) === mine) this.#turns.delete(caller);
      resolve();
    };
    if (before) {
      this.#turns.set(caller, mine);
      await before;
    }
    let length = 0;
    try {
      const exchange = answer();
      length = "reply" in exchange ? (exchange.reply.body?.length ?? 0) : 0;
      return length < long ? exchange : this.#held(call, exchange, length);
    } finally {
      if (length < long) end();
      else {
        if (before === undefined) this.#turns.set(caller, mine);
        setImmediate(end);
      }
    }
  }

  /** The answer, held in the budget until it is sent. */
  #held({ caller, outgoing, reads }: Answered, exchange: Exchange, length: number): Exchange | Refusal {
    const holding = this.#bytes.of(caller);
    if (reads && !holding.take(length)) return refusals.noRoomForBytes();
    if (outgoing.destroyed) holding.release();
    else outgoing.once("close", () => holding.release());
    return exchange;
  }
}
