import type { Content } from "./fake-data.ts";

/** The rows of an answer. */
export type Rows = readonly (readonly (string | null)[])[];

type Match = readonly string[];

const name = `"((?:[^"]|"")*)"`;

/** Statements that change what a server knows. */
const changes: readonly [RegExp, (content: Content, match: Match) => void][] = [
  [
    /^(?:CREATE|ALTER) ROLE "?(\w+)"? (?:NOLOGIN )?NOSUPERUSER/,
    ({ roles }, [, role = ""]) => void (roles[role] ??= { login: false, password: "", memberOf: [] }),
  ],
  [
    /^ALTER ROLE "(.*)" LOGIN PASSWORD '(.*)'$/,
    ({ roles }, [, role = "", password = ""]) => {
      const found = roles[role];
      if (found) Object.assign(found, { login: true, password });
    },
  ],
  [
    /^ALTER ROLE "(.*)" NOLOGIN$/,
    ({ roles }, [, role = ""]) => {
      const found = roles[role];
      if (found) found.login = false;
    },
  ],
  [/^GRANT (\w+) TO "(.*)"$/, ({ roles }, [, group = "", role = ""]) => void roles[role]?.memberOf.push(group)],
  [/^DROP ROLE "?(.*?)"?$/, ({ roles }, [, role = ""]) => void delete roles[role]],
  [
    new RegExp(`^CREATE DATABASE ${name} OWNER ${name}`),
    ({ databases }, [, database = "", owner = ""]) => void (databases[database] = owner),
  ],
  [
    new RegExp(`^ALTER DATABASE ${name} OWNER TO ${name}$`),
    ({ databases }, [, database = "", owner = ""]) => void (databases[database] = owner),
  ],
  [
    new RegExp(`^ALTER DATABASE ${name} RENAME TO ${name}$`),
    ({ databases }, [, from = "", to = ""]) => {
      databases[to] = databases[from] ?? "";
      delete databases[from];
    },
  ],
  [
    new RegExp(`^DROP DATABASE IF EXISTS ${name}`),
    ({ databases }, [, database = ""]) => void delete databases[database],
  ],
  [/^INSERT (\w+)$/, ({ rows }, [, word = ""]) => void rows.push(word)],
  [/^DO .*'TRUNCATE '/s, ({ rows }) => void rows.splice(0)],
];

/** The change that a statement makes; `undefined` where it makes none. */
export function changeOf(sql: string): ((content: Content) => void) | undefined {
  const all = sql.split("; ").map((statement) => {
    for (const [pattern, act] of changes) {
      const match = pattern.exec(statement);
      if (match) return (content: Content) => act(content, match);
    }
    return undefined;
  });
  if (all.every((one) => one === undefined)) return undefined;
  return (content) => {
    for (const act of all) act?.(content);
  };
}

const isOurs = (owner: string) => owner === "cloud_admin";

/** Answers what the service asks of a server's catalogue; nothing to any other statement. */
export function rowsOf(sql: string, values: readonly (string | null)[], { roles, databases, rows }: Content): Rows {
  const clients = Object.entries(databases).filter(([, owner]) => !isOurs(owner));
  if (sql.startsWith("SELECT rolname, (rolname"))
    return Object.entries(roles).map(([role, { memberOf }]) => [
      role,
      [role, ...memberOf].includes("neon_superuser") ? "t" : "f",
    ]);
  if (sql === "SELECT datname FROM pg_database") return Object.keys(databases).map((database) => [database]);
  if (sql.startsWith("SELECT datname, rolname")) return clients;
  if (sql.startsWith("SELECT datname, pg_get_userbyid(datdba)"))
    return Object.entries(databases).filter(([database]) => database !== "template0");
  if (sql.startsWith("SELECT datname, datname = 'template0'"))
    return Object.keys(databases).map((database) => [database, database === "template0" ? "t" : "f"]);
  if (sql.startsWith("SELECT datname, NOT datallowconn"))
    return Object.keys(databases)
      .filter((database) => database !== "template0")
      .map((database) => [database, "f", "-1"]);
  if (sql.startsWith("SELECT datallowconn AND"))
    return Object.keys(databases).flatMap((one) => (sql.endsWith(`'${one}'`) ? [["t"]] : []));
  if (sql.startsWith("SELECT rolname, rolcanlogin"))
    return Object.entries(roles).map(([role, { login, memberOf }]) => [
      role,
      login ? "t" : "f",
      memberOf.includes("neon_superuser") ? "t" : "f",
    ]);
  if (sql.startsWith("SELECT pg_catalog.left(rolpassword")) return [[roles[values[0] ?? ""]?.password ?? null]];
  if (sql === "SHOW server_version_num") return [["170002"]];
  if (sql === "SELECT rows") return rows.map((row) => [row]);
  return [];
}
