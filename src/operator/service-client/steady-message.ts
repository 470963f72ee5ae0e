/** A word with a digit: a time, a counter or a request id, but not the status of an answer. */
const changing = /(?<![^\s"'(),;]|HTTP )[^\s"'(),;]*\d[^\s"'(),;]*/g;

/**
 * The message to report after an earlier one: the earlier one, if they differ only in words with digits. Otherwise each
 * try would change the status of every Compute that shows the message.
 */
export function steadyMessage(before: string | undefined, now: string): string {
  if (before === undefined) return now;
  return before.replaceAll(changing, "#") === now.replaceAll(changing, "#") ? before : now;
}
