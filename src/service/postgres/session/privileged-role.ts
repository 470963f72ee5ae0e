import type { SqlClient } from "./sql-client.ts";

/** A session as the catalogue's work needs it. */
export type Session = Pick<SqlClient, "query" | typeof Symbol.dispose>;

/** Our role in every server: its only superuser. No client can have the name. */
export const superuser = "cloud_admin";

/** The vendor's role for what a tenant may do everywhere in its branch. No client can make or take its name. */
export const privilegedRole = "neon_superuser";

/** Of a row of `pg_roles`: true of this role and of the API's, its members. No client can make a role one of these. */
export const isOurs = `(rolname = '${privilegedRole}' OR oid IN (SELECT member FROM pg_auth_members
  WHERE roleid = (SELECT oid FROM pg_roles WHERE rolname = '${privilegedRole}')))`;

/** The rights that differ by version of Postgres, whose number is as `server_version_num` has it. */
export async function serverVersion(client: Session): Promise<number> {
  const [row] = await client.query("SHOW server_version_num");
  return Number(row?.[0]);
}

/**
 * The attributes of the privileged role, and of each role of the API: members inherit no attribute. Before Postgres 16
 * a role that may create roles may also give itself those that run programs and read files.
 */
export function privilegedAttributes(version: number): string {
  return `INHERIT CREATEDB ${version >= 160_000 ? "CREATEROLE" : "NOCREATEROLE"} REPLICATION BYPASSRLS`;
}

/** Makes the privileged role, or gives it what it lacks. */
export async function putPrivilegedRole(client: Session, version: number, exists: boolean): Promise<void> {
  const verb = exists ? "ALTER" : "CREATE";
  await client.query(`${verb} ROLE ${privilegedRole} NOLOGIN NOSUPERUSER ${privilegedAttributes(version)}`);
  await client.query(`GRANT pg_read_all_data, pg_write_all_data TO ${privilegedRole}`);
  await client.query(`GRANT pg_monitor, pg_signal_backend TO ${privilegedRole} WITH ADMIN OPTION`);
  // A subscription names files: libpq 18 writes one, earlier ones load one as an engine of OpenSSL (`sslkey`), and some
  // loaders take a temporary file, which has a client's bytes at a path that it knows. The right exists from 16 on.
  if (version >= 160_000) await client.query(`REVOKE pg_create_subscription FROM ${privilegedRole}`);
}
