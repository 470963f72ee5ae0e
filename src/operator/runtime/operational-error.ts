/**
 * Whoever talks to others is refused now and then, finds nobody there, or is told what cannot be read. That is no
 * mistake of this program, so a log line tells of it without a stack, and of what it came from too.
 */
export class OperationalError extends Error {
  override name = "Expected";
}
