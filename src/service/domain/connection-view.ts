import { timestamp } from "../clock.ts";
import { endpointHost, poolerHost } from "../computes/hosts.ts";
import type { ServiceContext } from "../context.ts";
import type { Branch } from "../store/branches.ts";
import type { BranchDatabase, Role } from "../store/catalog.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Project } from "../store/projects.ts";

/** The port of Postgres: URIs need not name it. */
export const defaultPort = 5432;

/** A connection string. A role that cannot log in has no password in it, nor has one whose password is not shown. */
export function connectionUri(
  context: ServiceContext,
  project: Project,
  endpoint: StoredEndpoint,
  { database, role, pooled, shows = true }: { database: string; role: Role; pooled: boolean; shows?: boolean },
): string {
  const password = role.login && shows ? `:${context.catalog.passwordOf(role)}` : "";
  const login = `postgresql://${encodeURIComponent(role.name)}${password}`;
  const { address } = context.backend;
  if (address && context.options.domain === undefined) {
    // Addresses have no names of their own to route by, so the parameter names the compute.
    const option = encodeURIComponent(`endpoint=${endpoint.id}${pooled ? "-pooler" : ""}`);
    const place = `${bracketed(address.host)}:${address.port}/${encodeURIComponent(database)}`;
    return `${login}@${place}?options=${option}`;
  }
  const host = (pooled ? poolerHost : endpointHost)(context.options, endpoint.id, project.regionId);
  const port = address && address.port !== defaultPort ? `:${address.port}` : "";
  return `${login}@${host}${port}/${encodeURIComponent(database)}?sslmode=require`;
}

/** A host as URIs have it. */
export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** The connections of a new branch in the answer to its creation, passwords included. */
export function connectionViews(
  context: ServiceContext,
  project: Project,
  branch: Branch,
  endpoints: readonly StoredEndpoint[],
) {
  const [databases, roles] = [context.catalog.databases(branch.id), context.catalog.roles(branch.id)];
  const [database] = databases;
  const role = roles.find(({ name }) => name === database?.ownerName);
  const sharedHost = context.options.domain === undefined ? context.backend.address?.host : undefined;
  return {
    connection_uris:
      database && role
        ? endpoints.map((endpoint) => ({
            connection_uri: connectionUri(context, project, endpoint, { database: database.name, role, pooled: false }),
            connection_parameters: {
              database: database.name,
              role: role.name,
              password: role.login ? context.catalog.passwordOf(role) : "",
              host: sharedHost ?? endpointHost(context.options, endpoint.id, project.regionId),
              pooler_host: sharedHost ?? poolerHost(context.options, endpoint.id, project.regionId),
            },
          }))
        : [],
    roles: roles.map((one) => roleWithPasswordView(context, one)),
    databases: databases.map(databaseView),
  };
}

/** A role in lists, without its password. */
export function roleView(role: Role) {
  return {
    branch_id: role.branchId,
    name: role.name,
    protected: false,
    authentication_method: role.login ? "password" : "no_login",
    created_at: timestamp(role.createdAt),
    updated_at: timestamp(role.updatedAt),
  };
}

/** A role in the answer that created or reset its password. */
export function roleWithPasswordView(context: ServiceContext, role: Role) {
  return { ...roleView(role), ...(role.login && { password: context.catalog.passwordOf(role) }) };
}

export function databaseView(database: BranchDatabase) {
  return {
    id: database.id,
    branch_id: database.branchId,
    name: database.name,
    owner_name: database.ownerName,
    created_at: timestamp(database.createdAt),
    updated_at: timestamp(database.updatedAt),
  };
}
