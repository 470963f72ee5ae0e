/**
 * Whoever talks to others is refused now and then, or finds nobody there. That is no mistake of this program, so a log
 * line tells of it without a stack, and of what it came from too.
 */
export class Expected extends Error {
  override name = "Expected";
}
