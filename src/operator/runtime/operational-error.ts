/**
 * A failure outside this program: a refused request, a server that is down, an unreadable answer. It is no defect, so
 * log lines leave out its stack and those of its causes.
 */
export class OperationalError extends Error {
  override name = "OperationalError";
}
