/**
 * A failure outside this program: a refused request, a server that is down, an unreadable answer. It is no defect, so
 * log lines leave out its stack and those of its causes.
 */
export class OperationalError extends Error {
  override name = "OperationalError";
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
