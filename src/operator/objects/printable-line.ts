/**
 * A text of others as one line that a terminal shows and does not obey: what is no character, ends
 * lines or turns the direction of writing becomes a space.
 */
export function printableLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Noncharacter_Code_Point}\ufeff]+/gu, " ");
}
