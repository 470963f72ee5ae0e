import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { PgClient } from "../node-postgres.ts";
import { type PostgresRig, project } from "../rig.ts";
import { type Content, inWords, type ModelBranch } from "./model.ts";

const base = `/projects/${project}`;

const Roles = z.array(z.looseObject({ name: z.string(), authentication_method: z.string() }));
const Databases = z.array(z.looseObject({ name: z.string(), owner_name: z.string() }));
export const Branches = z.array(
  z.looseObject({ id: z.string(), name: z.string(), parent_id: z.string().optional(), current_state: z.string() }),
);

/** Replaces the login of a connection string. */
export function withLogin(uri: string, role: string, password: string): string {
  return uri.replace(/^postgresql:\/\/[^@]*@/, `postgresql://${encodeURIComponent(role)}:${password}@`);
}

/** Where a branch differs from the model; passwords that the model does not know are noted there. */
export async function differences(rig: PostgresRig, branch: ModelBranch): Promise<string[]> {
  const problems: string[] = [];
  const path = `${base}/branches/${branch.id}`;
  await learnPasswords(rig, branch, problems);
  const [role, password] = [...branch.passwords][0] ?? [];
  const first = [...branch.content.databases.keys()][0];
  if (role === undefined || password === undefined || first === undefined) return [...problems, "nobody can log in"];
  const uri = await uriOf(rig, branch.primary, first, role);
  if (uri === undefined) return [...problems, `no connection string for ${first} as ${role}`];
  const served = await contentOf(rig, uri, branch, branch.primary).catch((error: unknown) => String(error));
  // A client's own change shows once a compute has run again.
  const shown: Content = { roles: new Map(), databases: new Map() };
  const roles = Roles.parse((await rig.call("GET", `${path}/roles`)).body["roles"]);
  const databases = Databases.parse((await rig.call("GET", `${path}/databases`)).body["databases"]);
  for (const one of roles) shown.roles.set(one.name, one.authentication_method === "password");
  for (const one of databases) shown.databases.set(one.name, { owner: one.owner_name, rows: new Set() });
  const named = (content: Content) => inWords(content).filter((line) => !/^[^ ]+: /.test(line));
  problems.push(...unlike("the API", named(branch.content), named(shown)));
  if (typeof served === "string") return [...problems, `primary: ${served}`];
  problems.push(...unlike("the primary", inWords(branch.content), inWords(served)));
  for (const [name, secret] of branch.passwords) {
    const said = await logIn(rig, withLogin(uri, name, secret));
    if (said !== name) problems.push(`${name} cannot log in: ${said}`);
  }
  for (const { role: name, password: secret } of branch.former.slice(-6)) {
    const said = await logIn(rig, withLogin(uri, name, secret));
    if (said === name) problems.push(`${name} logs in with a password that holds no more`);
  }
  if (branch.replica !== undefined) problems.push(...(await replicaProblems(rig, branch, branch.replica, first, role)));
  return problems;
}

async function replicaProblems(
  rig: PostgresRig,
  branch: ModelBranch,
  replica: string,
  first: string,
  role: string,
): Promise<string[]> {
  const uri = await uriOf(rig, replica, first, role);
  if (uri === undefined) return ["no connection string for the replica"];
  let last: string[] = [];
  // It follows its primary, some time later.
  for (let tries = 0; tries < 100; tries += 1) {
    const served = await contentOf(rig, uri, branch, replica).catch((error: unknown) => String(error));
    last =
      typeof served === "string"
        ? [`replica: ${served}`]
        : unlike("the replica", inWords(branch.content), inWords(served));
    if (last.length === 0) return [];
    await sleep(100);
  }
  return last;
}

async function learnPasswords(rig: PostgresRig, branch: ModelBranch, problems: string[]): Promise<void> {
  for (const [role, login] of branch.content.roles) {
    if (!login) continue;
    const path = `${base}/branches/${branch.id}/roles/${role}/reveal_password`;
    const { status, body } = await rig.call("GET", path);
    const revealed = body["password"];
    if (status !== 200 || typeof revealed !== "string") {
      problems.push(`no password of ${role}: ${status} ${JSON.stringify(body)}`);
      continue;
    }
    const known = branch.passwords.get(role);
    if (known !== undefined && known !== revealed) problems.push(`${role} has another password than it was given`);
    if (branch.former.some((one) => one.role === role && one.password === revealed))
      problems.push(`${role} has a former password again`);
    branch.passwords.set(role, revealed);
  }
}

export async function uriOf(
  rig: PostgresRig,
  endpoint: string,
  database: string,
  role: string,
): Promise<string | undefined> {
  const query = new URLSearchParams({ database_name: database, role_name: role, endpoint_id: endpoint });
  const { body } = await rig.call("GET", `${base}/connection_uri?${query.toString()}`);
  return typeof body["uri"] === "string" ? body["uri"] : undefined;
}

async function logIn(rig: PostgresRig, uri: string): Promise<string> {
  try {
    const rows = await rig.query(uri, "SELECT current_user::text AS name");
    return String(rows[0]?.["name"]);
  } catch (error) {
    return String(error);
  }
}

/** What a compute shows to a client. */
async function contentOf(rig: PostgresRig, uri: string, branch: ModelBranch, compute: string): Promise<Content> {
  const client = await rig.client(uri);
  try {
    const roles = await rowsOf(
      client,
      "SELECT rolname::text AS name, rolcanlogin AS login FROM pg_roles WHERE NOT rolsuper",
    );
    const databases = await rowsOf(
      client,
      "SELECT datname::text AS name, rolname::text AS owner FROM pg_database JOIN pg_roles r ON r.oid = datdba WHERE NOT rolsuper",
    );
    const content: Content = { roles: new Map(), databases: new Map() };
    for (const { name, login } of roles) {
      if (/^(pg_|neon_superuser$)/.test(String(name))) continue;
      content.roles.set(String(name), login === true);
    }
    for (const { name, owner } of databases) {
      const inside = new URL(uri);
      inside.pathname = `/${encodeURIComponent(String(name))}`;
      const rows = branch.content.databases.has(String(name))
        ? await marksIn(rig, inside.toString())
        : new Set<string>();
      content.databases.set(String(name), { owner: String(owner), rows });
    }
    return content;
  } catch (error) {
    throw new Error(`${compute}: ${String(error)}`, { cause: error });
  } finally {
    await client.end();
  }
}

async function marksIn(rig: PostgresRig, uri: string): Promise<Set<string>> {
  const client = await rig.client(uri);
  try {
    const [found] = await rowsOf(client, "SELECT to_regclass('s.mark') AS found");
    if (found?.["found"] === null) return new Set();
    return new Set((await rowsOf(client, "SELECT m FROM s.mark")).map(({ m }) => String(m)));
  } finally {
    await client.end();
  }
}

async function rowsOf(client: PgClient, sql: string): Promise<Record<string, unknown>[]> {
  return (await client.query(sql)).rows;
}

/** Lines that only one of two has. */
export function unlike(where: string, wanted: readonly string[], found: readonly string[]): string[] {
  return [
    ...wanted.filter((line) => !found.includes(line)).map((line) => `${where} lacks ${line}`),
    ...found.filter((line) => !wanted.includes(line)).map((line) => `${where} has ${line}`),
  ];
}
