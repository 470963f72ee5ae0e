/** The ways to connect that a page offers, each with the code for a connection string. */
export const snippets: readonly { name: string; title: string; code: (uri: string) => string }[] = [
  { name: "psql", title: "psql", code: (uri) => `psql '${uri}'` },
  { name: "env", title: ".env", code: (uri) => `DATABASE_URL="${uri}"` },
  {
    name: "node",
    title: "node-postgres",
    code: (uri) => `import { Client } from "pg";

const client = new Client({ connectionString: "${uri}" });
await client.connect();
const { rows } = await client.query("SELECT version()");`,
  },
  {
    name: "prisma",
    title: "Prisma",
    code: (uri) => `# .env
DATABASE_URL="${uri}"

// prisma.config.ts
import "dotenv/config";
import { defineConfig, env } from "prisma/config";

export default defineConfig({
  schema: "prisma/schema.prisma",
  datasource: { url: env("DATABASE_URL") },
});

// prisma/schema.prisma
datasource db {
  provider = "postgresql"
}

// With @prisma/adapter-pg
const adapter = new PrismaPg({ connectionString: process.env.DATABASE_URL });
const prisma = new PrismaClient({ adapter });`,
  },
  {
    name: "psycopg",
    title: "psycopg",
    code: (uri) => `import psycopg

with psycopg.connect("${uri}") as connection:
    print(connection.execute("SELECT version()").fetchone())`,
  },
  { name: "jdbc", title: "JDBC", code: jdbc },
  {
    name: "go",
    title: "Go",
    code: (uri) => `// import "github.com/jackc/pgx/v5"
connection, err := pgx.Connect(ctx, "${uri}")`,
  },
];

/** A connection string that is safe between quotes of any of these languages, and of a shell. */
export function quotable(uri: string): string {
  return uri.replaceAll(/['()!*~"\\`$]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The driver takes user and password as parameters. */
function jdbc(uri: string): string {
  const [, user = "", password, rest = ""] = /^postgresql:\/\/([^:@]*)(?::([^@]*))?@(.*)$/.exec(uri) ?? [];
  const login = [`user=${user}`, ...(password === undefined ? [] : [`password=${password}`])].join("&");
  return `String url = "jdbc:postgresql://${rest}${rest.includes("?") ? "&" : "?"}${login}";
Connection connection = DriverManager.getConnection(url);`;
}
