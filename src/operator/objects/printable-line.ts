/**
 * A text of others as one line that a terminal shows and does not obey: control characters and those that turn the
 * direction of writing become spaces.
 */
export function printableLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}]+/gu, " ");
}
