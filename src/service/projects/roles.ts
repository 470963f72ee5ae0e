import { createHmac } from "node:crypto";
import { endpointHost, poolerHost } from "../computes/hosts.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { World } from "../world.ts";

/** The database and the role that every branch has from the start. */
export const defaultDatabase = "neondb";
export const defaultRole = "neondb_owner";

/** The password of a role on a branch: always the same one, and known to nobody else. */
export function passwordOf(world: World, branchId: string, role: string): string {
  const secret = world.store.constant("password-secret", () => world.ids.secret());
  return `npg_${createHmac("sha256", secret).update(`${branchId}/${role}`).digest("base64url").slice(0, 24)}`;
}

/** What a client connects with. */
export function connectionUri(
  world: World,
  endpoint: StoredEndpoint,
  regionId: string,
  { database, role, pooled }: { database: string; role: string; pooled: boolean },
): string {
  const host = pooled ? poolerHost(endpoint.id, regionId) : endpointHost(endpoint.id, regionId);
  const password = passwordOf(world, endpoint.branchId, role);
  return `postgresql://${encodeURIComponent(role)}:${password}@${host}/${encodeURIComponent(database)}?sslmode=require`;
}
