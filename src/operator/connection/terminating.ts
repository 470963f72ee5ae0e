import type { Compute } from "../resources/compute.ts";
import { owningPool } from "../resources/compute-pool.ts";
import type { KubeObject } from "../resources/object.ts";
import type { ServiceConnection } from "../resources/service-connection.ts";
import { hasFinalizer } from "./finalizers.ts";
import { deleting } from "./messages.ts";
import type { Secret } from "./resolve.ts";

/** What is being deleted and may not go yet. */
export interface Leaving {
  what: "ServiceConnection" | "Secret";
  /** What it waits for and what to do, in stable words. */
  message: string;
  /** Whether it ends by itself, since all that it waits for is being deleted too. */
  endsByItself: boolean;
}

/** The most characters that the names of Computes take up in a message. */
const mostOfNames = 400;

/** Why a connection, or else its Secret, that is being deleted does not go; `undefined` where neither is. */
export function leavingOf(
  { metadata }: ServiceConnection,
  secret: Secret | undefined,
  users: readonly Compute[],
): Leaving | undefined {
  if (users.length === 0) return undefined;
  const standing = users.filter((user) => user.metadata.deletionTimestamp === undefined);
  const endsByItself = standing.length === 0;
  const pools = standing.some(owningPool);
  const said = (name: string | undefined) =>
    endsByItself ? deleting.endsAutomatically(name) : deleting.inUse(name, pools, namesOf(standing));
  if (isLeaving({ metadata })) return { what: "ServiceConnection", message: said(undefined), endsByItself };
  if (secret === undefined || !isLeaving(secret)) return undefined;
  return { what: "Secret", message: said(secret.metadata.name), endsByItself };
}

function isLeaving(object: Pick<KubeObject, "metadata">): boolean {
  return object.metadata.deletionTimestamp !== undefined && hasFinalizer(object);
}

/** Sorted, as many as there is room for; the members of a pool by the pool, for only there can they be changed. */
function namesOf(computes: readonly Compute[]): string {
  const users = computes.map((compute) => {
    const pool = owningPool(compute);
    return pool === undefined ? compute.metadata.name : `ComputePool ${pool.name}`;
  });
  const names = [...new Set(users)].toSorted();
  const [first = "", ...rest] = names;
  let text = first;
  for (const name of rest) {
    if (text.length + name.length + 2 > mostOfNames) return `${text} and others`;
    text += `, ${name}`;
  }
  return text;
}
