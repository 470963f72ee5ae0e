import { hash } from "node:crypto";
import { refusals } from "../../refusal.ts";
import { Shares } from "../../sharing/shares.ts";
import { Slots } from "../../sharing/slots.ts";
import { Unanswered } from "../../unanswered.ts";
import type { Ended } from "../host/processes.ts";

/** The answers that are kept: the oldest makes room for a new one. */
const mostKept = 1000;
/**
 * The questions that may wait at one time, of which one owner has half at most: each is answered by a process of some
 * ten milliseconds.
 */
const mostWaiting = 100;

/** The servers that are asked, and for whom. */
export interface Asking {
  major: number;
  /** The account or organization whose call it is. */
  owner: string;
}

/**
 * The words of servers about settings of computes. A server is asked in a process of its own, one at a time, owners in
 * turn, and never while the service waits for it: a caller that needs an answer is told to come again (`Unanswered`).
 */
export class SettingsAnswers {
  readonly #line = new Slots(1);
  readonly #shares = new Shares(mostWaiting);
  readonly #known = new Map<string, { refusal: string | undefined }>();

  /**
   * Reason why a server of this version would not take the settings, in its words; `undefined` where it would, or
   * cannot be asked. `ask` starts a server that only reads them.
   */
  refusal({ major, owner }: Asking, settings: readonly string[], ask: () => Promise<Ended>): string | undefined {
    // The text of the settings may be long.
    const key = hash("sha256", JSON.stringify([major, settings]), "base64");
    const known = this.#known.get(key);
    if (known) return known.refusal;
    const part = this.#shares.of(owner);
    if (!part.take(1)) throw refusals.unavailable("too many settings are being checked: try again");
    const answered = this.#line.take(() => this.#answer(key, ask), owner);
    throw new Unanswered(answered.finally(() => part.release()));
  }

  async #answer(key: string, ask: () => Promise<Ended>): Promise<void> {
    if (!this.#known.has(key)) this.#keep(key, refusalIn(await ask()));
  }

  #keep(key: string, refusal: string | undefined): void {
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= mostKept) this.#known.delete(oldest);
    this.#known.set(key, { refusal });
  }
}

function refusalIn({ status, output }: Ended): string | undefined {
  if (status === 0 || status === null) return undefined;
  return (
    /FATAL: +(.*)$/m.exec(output)?.[1] ?? output.split("\n").find((line) => line !== "") ?? "the server refuses them"
  );
}
