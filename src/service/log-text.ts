/**
 * A text for the log, in which clients may have words, such as the names of their databases: a terminal obeys none of
 * it, and where it has several lines, no further one looks like a line of the service's own.
 */
export function logText(text: string): string {
  const [first = "", ...further] = text.split("\n").map((line) => line.replaceAll(/[\p{Cc}\p{Bidi_Control}]+/gu, " "));
  return [first, ...further.map((line) => (line.startsWith(" ") ? line : `  ${line}`))].join("\n");
}
