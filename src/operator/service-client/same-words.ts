/** A word with a digit: a time, a counter, the id of a request; the status of an answer is none of these. */
const changing = /(?<![^\s"'(),;]|HTTP )[^\s"'(),;]*\d[^\s"'(),;]*/g;

/**
 * The message to report where a service gave one before: that one, if both differ only in words with digits. Each try
 * would otherwise be news to every Compute that shows it.
 */
export function steadyMessage(before: string | undefined, now: string): string {
  if (before === undefined) return now;
  return before.replaceAll(changing, "#") === now.replaceAll(changing, "#") ? before : now;
}
