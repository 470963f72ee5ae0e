/**
 * The purpose of a request, the most urgent first.
 *
 * - `write`: a write, and the reads without which a deletion or a write cannot end.
 * - `resolve`: lists and polls that find out the outcome of a create or a deletion.
 * - `plan`: lists that a change of a Compute waits for.
 * - `read`: other reads of a reconcile, such as connection details.
 * - `follow`: lists and polls that follow what is in progress.
 * - `refresh`: lists of projects in which nothing is known to happen.
 */
export const priorities = ["write", "resolve", "plan", "read", "follow", "refresh"] as const;

export type Priority = (typeof priorities)[number];
