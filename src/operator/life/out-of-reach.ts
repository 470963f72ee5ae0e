import { type ConditionRow, rowIn } from "../conditions/rows.ts";
import { type Condition, shownReason } from "../objects/conditions-of.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";

/** The reach of connections, as this process knows it. */
export interface Reach {
  /** The normalised base URL of an object's connection; `undefined`: it is not known. */
  baseURLOf(user: ConnectionUser): string | undefined;
  isUnreachable(user: ConnectionUser): boolean;
  /** The fingerprint of the connection's base URL and key if they have listed the project. */
  reachedThrough(user: ConnectionUser): string | undefined;
}

/**
 * True if nothing shows that an object's connection reaches its project. One that never had anything there either
 * claims nothing, or anybody could keep others from their branches by naming them, with no key at all. `table`: the
 * kind's reasons.
 */
export function isOutOfReach(
  user: ConnectionUser & { status: { conditions?: readonly Condition[] | undefined } },
  table: Readonly<Record<string, ConditionRow>>,
  connections: Pick<Reach, "isUnreachable" | "reachedThrough">,
): boolean {
  // A wrong caBundle can name any service and reach none, so such a connection blocks nobody.
  if (connections.isUnreachable(user)) return true;
  const reason = shownReason(user);
  const reaches = reason === undefined ? "first" : (rowIn(table, reason)?.reaches ?? "yes");
  return reaches === "no" || (reaches === "first" && connections.reachedThrough(user) === undefined);
}
