import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { cachedPackages } from "../../support/cached-npm.ts";
import { cachedPython } from "../../support/cached-python.ts";
import { programPath } from "../../support/debian.ts";
import { goBuild } from "../../support/go-build.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { mavenJar } from "../../support/maven-jar.ts";
import { runProgram } from "../../support/run-program.ts";
import { nodePostgresPackage } from "../postgres/node-postgres.ts";
import { main, primary, project } from "../postgres/rig.ts";
import { usePostgresRig } from "../postgres/use-rig.ts";

const rig = usePostgresRig();
const directory = temporaryDirectory("snippets");
let cookie = "";

async function page(path: string, fields?: Record<string, string>): Promise<string> {
  const answer = await fetch(`http://${rig.serviceAddress}${path}`, {
    redirect: "manual",
    headers: { cookie },
    ...(fields && { method: "POST", body: new URLSearchParams(fields) }),
  });
  cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? cookie;
  return answer.text();
}

beforeAll(async () => {
  const token = /name="token" value="([^"]+)"/.exec(await page("/"))?.[1] ?? "";
  await page("/app/sign-in", { token, account: "acc-ana" });
  // Installing blocks this process for longer than the service keeps a connection.
  cachedPython("psycopg[binary]==3.3.9");
});

/** The code that the page of the compute shows for a client, with its password. */
async function snippet(client: string, pooled = false): Promise<string> {
  const query = `password=shown&database=stock&role=app&for=${client}&pooled=${pooled}`;
  const html = await page(`/app/projects/${project}/branches/${main}/computes/${primary}?${query}`);
  const text = /<pre id="snippet">(.*?)<\/pre>/s.exec(html)?.[1] ?? "";
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** Writes a file of the test's own; answers its path. */
function file(name: string, text: string): string {
  const path = join(directory.path, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

async function output(command: string, ...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await runProgram(command, args);
  return status === 0 ? stdout.trim() : stderr;
}

const psql = () =>
  programPath({
    purpose: "The tests of code for clients need psql",
    variable: "PSQL",
    path: "/usr/bin/psql",
    package: "postgresql-client",
  });

it.each([false, true])("the code for psql and the .env file lead into the database (pooled: %s)", async (pooled) => {
  const program = await psql();
  const code = (await snippet("psql", pooled)).replace(/^psql /, `${program} `);
  expect(await output("sh", "-c", `${code} --no-psqlrc -Atc 'SELECT current_user'`)).toBe("app");
  const env = file(".env", await snippet("env", pooled));
  expect(await output("sh", "-c", `. ${env}; ${program} --no-psqlrc -Atc 'SELECT current_user' "$DATABASE_URL"`)).toBe(
    "app",
  );
});

it("the code for node-postgres leads into the database", async () => {
  const installed = cachedPackages(nodePostgresPackage).resolve("pg");
  symlinkSync(`${installed.split("/node_modules/")[0]}/node_modules`, join(directory.path, "node_modules"));
  const code = `${await snippet("node")}\nconsole.log(rows[0].version.slice(0, 10)); await client.end();\n`;
  expect(await output(process.execPath, file("client.mjs", code))).toBe("PostgreSQL");
});

it("the code for psycopg leads into the database", async () => {
  const python = cachedPython("psycopg[binary]==3.3.9");
  expect(await output(python, file("client.py", await snippet("psycopg")))).toContain("PostgreSQL");
});

it("the code for JDBC leads into the database", async () => {
  const classpath = join(mavenJar("org.postgresql:postgresql:42.7.11"), "postgresql-42.7.11.jar");
  const code = `import java.sql.Connection;
import java.sql.DriverManager;
public class Main {
  public static void main(String[] args) throws Exception {
    ${await snippet("jdbc")}
    System.out.println(connection.getMetaData().getDatabaseProductName());
  }
}
`;
  expect(await output("java", "-cp", classpath, file("Main.java", code))).toBe("PostgreSQL");
});

it("the code for Go leads into the database", async () => {
  const [imported = "", ...code] = (await snippet("go")).split("\n");
  file(
    "go/main.go",
    `package main

import (
	"context"
	"fmt"
	"os"

	${imported.replace("// import ", "")}
)

func main() {
	ctx := context.Background()
	${code.join("\n\t")}
	var user string
	if err == nil {
		err = connection.QueryRow(ctx, "SELECT current_user").Scan(&user)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(user)
}
`,
  );
  const pinned = join(import.meta.dirname, "..", "postgres", "drivers", "pgx");
  for (const name of ["go.mod", "go.sum"]) copyFileSync(join(pinned, name), join(directory.path, "go", name));
  const program = join(directory.path, "client");
  expect(await goBuild({ module: join(directory.path, "go"), package: ".", output: program })).toBe(undefined);
  expect(await output(program)).toBe("app");
}, 1_200_000);
