import { clippedNames } from "../objects/conditions-of.ts";
import { isBeingDeleted, type KubeObject } from "../objects/object.ts";
import { branchKind } from "../resources/branch.ts";
import { type Connection, isOfCluster } from "../resources/cluster-service-connection.ts";
import { owningPool } from "../resources/compute-pool.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import type { Secret } from "../resources/secret.ts";
import { hasFinalizer } from "./finalizers.ts";
import { deleting } from "./messages.ts";

/** A connection or Secret whose deletion waits. */
export interface Terminating {
  kind: "connection" | "Secret";
  /** The condition's message: the objects that the deletion waits for, and what to do; stable text. */
  message: string;
  /** True if no action is needed, because all Computes that it waits for are being deleted too. */
  endsAutomatically: boolean;
}

/** Maximum length of the names of Computes in a message. */
const mostOfNames = 400;

/** Reason why the deletion of a connection, or else of its Secret, waits; `undefined` if neither is being deleted. */
export function terminatingOf(
  connection: Connection,
  secret: Secret | undefined,
  usersOf: () => readonly ConnectionUser[],
): Terminating | undefined {
  const deleted = secret !== undefined && isTerminating(secret) ? secret : undefined;
  if (deleted === undefined && !isTerminating(connection)) return undefined;
  const users = usersOf();
  if (users.length === 0) return undefined;
  const standing = users.filter((user) => !isBeingDeleted(user));
  const endsAutomatically = standing.length === 0;
  const pools = standing.some(owningPool);
  const messageFor = (name: string | undefined) =>
    endsAutomatically
      ? deleting.endsAutomatically(name)
      : deleting.inUse(name, pools, namesOf(standing, isOfCluster(connection)));
  if (isTerminating(connection)) return { kind: "connection", message: messageFor(undefined), endsAutomatically };
  return { kind: "Secret", message: messageFor(deleted?.metadata.name), endsAutomatically };
}

function isTerminating(object: Pick<KubeObject, "metadata">): boolean {
  return isBeingDeleted(object) && hasFinalizer(object);
}

/**
 * Sorted and clipped; with their namespaces if `ofMany`. Members of a pool are named by their pool, because only the
 * pool can change them.
 */
function namesOf(all: readonly ConnectionUser[], ofMany: boolean): string {
  const users = all.map((user) => {
    const pool = owningPool(user);
    const place = ofMany ? `${user.metadata.namespace ?? ""}/` : "";
    const kind = user.kind === branchKind.kind ? "Branch " : "";
    return pool === undefined ? `${kind}${place}${user.metadata.name}` : `ComputePool ${place}${pool.name}`;
  });
  return clippedNames(new Set(users), mostOfNames);
}
