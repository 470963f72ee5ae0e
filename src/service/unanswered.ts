/** The most answers that one call may wait for: it is carried out again after each. */
export const mostWaits = 20;

/**
 * Thrown by a call that needs an answer which has to be waited for. Nothing was changed: the call is carried out again
 * once the answer is there, and finds it at once then.
 */
export class Unanswered extends Error {
  override name = "Unanswered";
  /** Resolves when the answer is there; never rejects. */
  readonly answered: Promise<void>;

  constructor(answered: Promise<void>) {
    super("the answer has to be waited for");
    this.answered = answered;
  }
}
