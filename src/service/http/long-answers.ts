import type { ServerResponse } from "node:http";
import { Refusal, refusals } from "../refusal.ts";
import type { Shares } from "../sharing/shares.ts";
import type { Exchange } from "./exchange.ts";

/** Length from which an answer is long, in bytes: making one takes milliseconds, and most lists are shorter. */
const long = 65_536;

/** Bytes that count for an answer while it is waited for: those of the longest schema. */
const waitedFor = 8 * 1024 ** 2;

/**
 * The most turns of the loop between an answer and its caller's next one. In each turn Node takes one new connection,
 * and those of strangers come while an answer is made: each millisecond of that gives them a turn.
 */
const mostTurns = 50;

/** One call to be answered. */
export interface Answered {
  /** In whose name it is answered, and a long answer held. */
  caller: string;
  outgoing: ServerResponse;
  /** True if the call changes nothing: a refusal must not stand for what was done, so such an answer is dropped. */
  reads: boolean;
}

/** A call's turn: when it has ended, and how many turns of the loop a call that waits for it leaves to others then. */
interface Turn {
  readonly ended: Promise<void>;
  owed: number;
}

/**
 * Answers each caller's calls one by one, each in turns of the loop of its own: many at once would keep everybody else
 * waiting. The bytes of long answers, such as lists of all that a caller has, count in the budget until they are sent.
 */
export class LongAnswers {
  readonly #bytes: Shares;
  /** By caller with a call in this turn of the loop: the last of its calls so far. */
  readonly #last = new Map<string, Turn>();

  readonly #now: () => number;

  /** `now`: milliseconds. */
  constructor(bytes: Shares, now: () => number) {
    this.#bytes = bytes;
    this.#now = now;
  }

  /** Makes an answer; `turn` gives it one more turn of the loop. The caller's next call waits for the last of them. */
  async make(call: Answered, answer: (turn: () => Promise<void>) => Exchange): Promise<Exchange | Refusal> {
    const { caller } = call;
    const before = this.#last.get(caller);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const mine: Turn = { ended, owed: 0 };
    this.#last.set(caller, mine);
    if (before) {
      await before.ended;
      // A call that comes later has had turns on its way, and its client may have closed its half of the connection.
      await turns(before.owed);
    }
    let goesOn = false;
    const turn = () => {
      goesOn = true;
      return turns(1);
    };
    const end = () => {
      if (this.#last.get(caller) === mine) this.#last.delete(caller);
      resolve();
    };
    setImmediate(() => goesOn || end());
    try {
      const begun = this.#now();
      const exchange = answer(turn);
      mine.owed = Math.min(this.#now() - begun, mostTurns);
      const whole = await this.#whole(call, exchange);
      return whole instanceof Refusal ? whole : this.#held(call, whole);
    } finally {
      if (goesOn) setImmediate(end);
    }
  }

  /** The answer, also where it has to be waited for: the process holds such ones before any byte of them is sent. */
  async #whole({ caller, reads }: Answered, exchange: Exchange): Promise<Exchange | Refusal> {
    if (!("reply" in exchange) || exchange.reply.later === undefined) return exchange;
    const holding = this.#bytes.of(caller);
    if (reads && !holding.take(waitedFor)) return refusals.noRoomForBytes();
    try {
      return { ...exchange, reply: await exchange.reply.later };
    } finally {
      holding.release();
    }
  }

  /** The answer, held in the budget until it is sent. */
  #held(call: Answered, exchange: Exchange): Exchange | Refusal {
    const hasRoom = this.count(call, "reply" in exchange ? exchange.reply.body : undefined);
    if (hasRoom) return exchange;
    return call.reads ? refusals.noRoomForBytes() : { kind: "dropped", delayMs: 0 };
  }

  /** Counts a long answer in the budget until it is sent; false where its caller's share has no room for it. */
  count({ caller, outgoing }: Pick<Answered, "caller" | "outgoing">, body = ""): boolean {
    const length = Buffer.byteLength(body);
    if (length < long) return true;
    const holding = this.#bytes.of(caller);
    if (!holding.take(length)) return false;
    if (outgoing.destroyed) holding.release();
    else outgoing.once("close", () => holding.release());
    return true;
  }
}

/** Ends after that many turns of the loop. */
async function turns(many: number): Promise<void> {
  for (let passed = 0; passed < many; passed += 1) await new Promise<void>((next) => setImmediate(next));
}
