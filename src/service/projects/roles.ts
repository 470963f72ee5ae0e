import { createHmac } from "node:crypto";
import { timestamp } from "../clock.ts";
import { endpointHost, poolerHost } from "../computes/hosts.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Branch, Project } from "../store/projects.ts";
import type { World } from "../world.ts";

/** The database and the role that every branch has from the start. */
const defaultDatabase = "neondb";
const defaultRole = "neondb_owner";

/** The password of a role on a branch: always the same one, and known to nobody else. */
function passwordOf(world: World, branchId: string, role: string): string {
  const secret = world.store.constant("password-secret", () => world.ids.secret());
  return `npg_${createHmac("sha256", secret).update(`${branchId}/${role}`).digest("base64url").slice(0, 24)}`;
}

/** What a client connects with. */
export function connectionUri(
  world: World,
  project: Project,
  endpoint: StoredEndpoint,
  { database, role, pooled }: { database: string; role: string; pooled: boolean },
): string {
  const host = (pooled ? poolerHost : endpointHost)(endpoint.id, project.regionId);
  const password = passwordOf(world, endpoint.branchId, role);
  return `postgresql://${encodeURIComponent(role)}:${password}@${host}/${encodeURIComponent(database)}?sslmode=require`;
}

/** What connects to a new branch, as the answer to its creation shows it: whole, passwords included. */
export function connectionViews(world: World, project: Project, branch: Branch, endpoints: readonly StoredEndpoint[]) {
  const password = passwordOf(world, branch.id, defaultRole);
  return {
    connection_uris: endpoints.map((endpoint) => ({
      connection_uri: connectionUri(world, project, endpoint, {
        database: defaultDatabase,
        role: defaultRole,
        pooled: false,
      }),
      connection_parameters: {
        database: defaultDatabase,
        role: defaultRole,
        password,
        host: endpointHost(endpoint.id, project.regionId),
        pooler_host: poolerHost(endpoint.id, project.regionId),
      },
    })),
    roles: [{ ...roleView(branch), password }],
    databases: [databaseView(branch)],
  };
}

/** The one role that the model of a branch has. */
export function roleView(branch: Branch) {
  return {
    branch_id: branch.id,
    name: defaultRole,
    protected: false,
    authentication_method: "password",
    created_at: timestamp(branch.createdAt),
    updated_at: timestamp(branch.createdAt),
  };
}

/** The one database that the model of a branch has. */
export function databaseView(branch: Branch) {
  return {
    id: branch.seq,
    branch_id: branch.id,
    name: defaultDatabase,
    owner_name: defaultRole,
    created_at: timestamp(branch.createdAt),
    updated_at: timestamp(branch.createdAt),
  };
}
