import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { z } from "zod";
import { newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";
import { cachedPackages } from "../../support/cached-npm.ts";
import { cachedPython } from "../../support/cached-python.ts";
import { programPath } from "../../support/debian.ts";
import { goBuild } from "../../support/go-build.ts";
import { mavenJar } from "../../support/maven-jar.ts";
import { createBranchAction } from "../vendor/create-branch-action.ts";
import { ManInTheMiddle } from "./man-in-the-middle.ts";
import { NamedHosts } from "./named-hosts.ts";
import { nodePostgresPackage } from "./node-postgres.ts";
import { main, primary, project } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

/** An address of its own, so that the port of Postgres is free on it. */
const address = "127.0.0.77";
const domain = "db.test";
const host = `${primary}.${domain}`;

const rig = usePostgresRig(["--host", address, "--postgres-port", "5432", "--domain", domain]);
const hosts = new NamedHosts({ [host]: address, [`${primary}-pooler.${domain}`]: address });
let psql: string;
let password: string;
let authority: string;
beforeAll(async () => {
  psql = await programPath({
    purpose: "The tests of host names need psql",
    variable: "PSQL",
    path: "/usr/bin/psql",
    package: "postgresql-client",
  });
  authority = (await rig.child.waitForLine(/^Certificate authority: (\S+)$/))[1] ?? "";
  const { body } = await rig.call("GET", `/projects/${project}/branches/${main}/roles/app/reveal_password`);
  password = z.string().parse(body["password"]);
});
afterAll(() => hosts[Symbol.dispose]());

const verifyFull = () => `sslmode=verify-full sslrootcert=${authority}`;

/** Runs a statement as `app` in `stock` through psql with further parameters; answers what it prints. */
function ask(parameters: string, sql = "SELECT current_user", secret = password): Promise<string> {
  const connection = `user=app dbname=stock password='${secret}' ${parameters}`;
  return hosts.output(psql, ["--no-psqlrc", "--tuples-only", "--no-align", "--command", sql, connection]);
}

describe("the hosts of --domain", () => {
  it("the hosts are those of the computes, as the API shows them and URIs name them", async () => {
    expect(await rig.endpoint()).toMatchObject({ host, proxy_host: domain });
    expect(await rig.uri()).toBe(`postgresql://app:${password}@${host}/stock?sslmode=require`);
    expect(await rig.uri({ pooled: true })).toContain(`@${primary}-pooler.${domain}/`);
    const made = await rig.call("POST", `/projects/${project}/branches`, {
      branch: { name: "dev" },
      endpoints: [{ type: "read_write" }],
    });
    const [{ id } = { id: "" }] = z.array(z.looseObject({ id: z.string() })).parse(made.body["endpoints"]);
    expect(made.body["connection_uris"]).toMatchObject([
      {
        connection_uri: expect.stringContaining(`@${id}.${domain}/`),
        connection_parameters: { host: `${id}.${domain}`, pooler_host: `${id}-pooler.${domain}` },
      },
    ]);
    await rig.settled();
  });

  it("the hosts are reached by psql with verify-full and channel binding, and the pooled one too", async () => {
    const strict = `${verifyFull()} channel_binding=require`;
    expect(await ask(`host=${host} ${strict}`)).toBe("app");
    expect(await ask(`host=${primary}-pooler.${domain} ${strict}`)).toBe("app");
  });

  it("the hosts are reached by node-postgres with the URI as it is, with channel binding and without", async () => {
    const script = join(import.meta.dirname, "drivers", "node-postgres.mjs");
    const directory = dirname(cachedPackages(nodePostgresPackage).resolve("pg/package.json"));
    const run = async (binding: string) =>
      hosts.output(process.execPath, [script, directory, await rig.uri(), binding], { NODE_EXTRA_CA_CERTS: authority });
    expect([await run("bind"), await run("plain")]).toEqual(["app true", "app true"]);
  });

  it("the hosts are reached by psycopg with verify-full and channel binding", async () => {
    // Installing blocks this process for longer than the service keeps a connection of its API.
    const uri = (await rig.uri()).replace("sslmode=require", "sslmode=verify-full&channel_binding=require");
    const python = cachedPython("psycopg[binary]==3.3.9");
    const script = join(import.meta.dirname, "drivers", "with_psycopg.py");
    expect(await hosts.output(python, [script, uri], { PGSSLROOTCERT: authority })).toBe("app True");
  });

  it("the hosts are reached by JDBC with verify-full and channel binding", async () => {
    const directory = mavenJar("org.postgresql:postgresql:42.7.11");
    const classpath = join(directory, "postgresql-42.7.11.jar");
    const url = `jdbc:postgresql://${host}/stock`;
    const source = join(import.meta.dirname, "drivers", "Query.java");
    expect(await hosts.output("java", ["-cp", classpath, source, url, "app", password, authority])).toBe("app");
  });

  it("the hosts are reached by pgx with verify-full and channel binding", async () => {
    const output = join(hosts.directory.path, "with-pgx");
    expect(await goBuild({ module: join(import.meta.dirname, "drivers", "pgx"), package: ".", output })).toBe(
      undefined,
    );
    const strict = `sslmode=verify-full&channel_binding=require&sslrootcert=${encodeURIComponent(authority)}`;
    expect(await hosts.output(output, [(await rig.uri()).replace("sslmode=require", strict)])).toBe("app");
  }, 1_200_000);

  it("the unmodified neonctl makes a connection string of the hosts, which leads into a query", async () => {
    const cli = join(dirname(createRequire(import.meta.url).resolve("neonctl/package.json")), "..", ".bin", "neonctl");
    const [service = ""] = rig.serviceAddress.split("\n");
    const flags = [
      "--api-host",
      `http://${service}/api/v2`,
      "--project-id",
      project,
      "--config-dir",
      hosts.directory.path,
    ];
    const neonctl = (...args: string[]) =>
      hosts.output(cli, [...args, ...flags, "--no-analytics", "--no-color"], {
        NEON_API_KEY: "ana-key",
        CI: "1",
        PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
      });
    const names = ["--role-name", "app", "--database-name", "stock"];
    for (const pooled of [[], ["--pooled"]]) {
      const uri = await neonctl("connection-string", "main", ...names, "--ssl", "verify-full", ...pooled);
      const query = ["--no-psqlrc", "--tuples-only", "--no-align", "--command", "SELECT 6 * 7", uri];
      expect(await hosts.output(psql, query, { PGSSLROOTCERT: authority })).toBe("42");
    }
  });

  it("the create-branch action makes addresses of the hosts, which lead into a query on the new branch", async () => {
    await ask(`host=${host} ${verifyFull()}`, "CREATE TABLE parcel AS SELECT 6 * 7 AS weight");
    const inputs = {
      apiKey: "ana-key",
      apiHost: `http://${rig.serviceAddress}/api/v2`,
      projectId: project,
      branchName: "pr-7",
      database: "stock",
      role: "app",
      ssl: "verify-full",
    };
    const first = await createBranchAction(inputs);
    expect(first.created).toBe(true);
    for (const url of [first.url, first.pooledUrl]) {
      hosts.add(new URL(url).hostname, address);
      const query = ["--no-psqlrc", "--tuples-only", "--no-align", "--command", "SELECT weight FROM parcel", url];
      expect(await hosts.output(psql, query, { PGSSLROOTCERT: authority })).toBe("42");
    }
    // A second push of the same pull request.
    expect(await createBranchAction(inputs)).toEqual({ ...first, created: false });
  });
});

describe("a login", () => {
  it("a login is refused where the certificate is another authority's, and where the name is another", async () => {
    const other = join(hosts.directory.path, "other.crt");
    writeFileSync(other, newAuthority().certificate);
    await expect(ask(`host=${host} sslmode=verify-full sslrootcert=${other}`)).rejects.toThrow(
      /certificate verify failed/,
    );
    await expect(ask(`host=${primary}.elsewhere.test hostaddr=${address} ${verifyFull()}`)).rejects.toThrow(
      /server certificate for .* does not match host name/,
    );
  });

  it("a login is refused where somebody between client and proxy has another certificate, if the client binds it", async () => {
    await using middle = await ManInTheMiddle.start({ host: address, port: 5432, serverName: host });
    const through = `host=${host} hostaddr=127.0.0.1 port=${middle.port} sslmode=require`;
    // Without a binding nobody notices: the man in the middle works.
    expect(await ask(`${through} channel_binding=disable`)).toBe("app");
    await expect(ask(`${through} channel_binding=require`)).rejects.toThrow(/SCRAM channel binding check failed/);
    await expect(ask(through)).rejects.toThrow(/SCRAM channel binding check failed/);
  });

  test.each([
    ["the password of the API's answer", "wrong", /password authentication failed for user "app"/],
    ["endpoint=ep-main;wrong", "endpoint=ep-main;wrong", /password authentication failed for user "app"/],
  ])("a login is refused with another password than %s", async (_, secret, message) => {
    await expect(ask(`host=${host} ${verifyFull()}`, "SELECT 1", secret)).rejects.toThrow(message);
  });

  it("a login is refused in the same words for a role that is not there, has no password, or cannot log in", async () => {
    await ask(`host=${host} ${verifyFull()}`, "CREATE ROLE bare LOGIN; CREATE ROLE closed NOLOGIN");
    for (const role of ["ghost", "bare", "closed"]) {
      const connection = `host=${host} dbname=stock user=${role} password=x ${verifyFull()}`;
      const { stderr } = await hosts.run(psql, ["--command", "SELECT 1", connection]);
      expect(stderr).toContain(`password authentication failed for user "${role}"`);
    }
  });

  it("takes a password that was set with SQL, whatever its salt and rounds, and no longer the one before", async () => {
    const there = `host=${host} ${verifyFull()} channel_binding=require`;
    await ask(there, "SET scram_iterations = 1000; CREATE ROLE carl LOGIN PASSWORD 'first'");
    const asCarl = (secret: string) => ask(`${there} user=carl`, "SELECT current_user", secret);
    expect(await asCarl("first")).toBe("carl");
    await ask(there, "ALTER ROLE carl PASSWORD 'second'");
    await expect(asCarl("first")).rejects.toThrow(/password authentication failed/);
    expect(await asCarl("second")).toBe("carl");
    await ask(there, "ALTER ROLE carl VALID UNTIL '2001-01-01'");
    await expect(asCarl("second")).rejects.toThrow(/password authentication failed/);
  });
});

describe("a client without a server name in its handshake", () => {
  const nameless = () => `host=${host} ${verifyFull()} sslsni=0`;

  it("names its compute before the password, by the vendor's words", async () => {
    for (const form of [
      `endpoint=${primary};${password}`,
      `endpoint=${primary}$${password}`,
      `project=${primary};${password}`,
    ]) {
      expect(await ask(nameless(), "SELECT current_user", form)).toBe("app");
    }
  });

  it("names its compute in options, by either word", async () => {
    expect(await ask(`${nameless()} options=project=${primary}`)).toBe("app");
    expect(await ask(`${nameless()} options=endpoint=${primary}`)).toBe("app");
  });

  it("learns how to name it, where it does not", async () => {
    await expect(ask(nameless())).rejects.toThrow(/names no compute: .*endpoint=<endpoint-id>;PASSWORD/);
  });

  it("a client is not asked for its password in clear without TLS", async () => {
    const form = `endpoint=${primary};${password}`;
    await expect(ask(`host=${host} sslmode=disable`, "SELECT 1", form)).rejects.toThrow(/names no compute/);
  });
});

describe("the authority", () => {
  it("lies beside --data with a key for the service alone, and outlives the service", async () => {
    expect(authority).toBe(`${rig.data}.authority.crt`);
    expect(statSync(`${rig.data}.authority.key`).mode & 0o777).toBe(0o600);
    const before = readFileSync(authority, "utf8");
    await rig.stop();
    await rig.start();
    expect(readFileSync(authority, "utf8")).toBe(before);
    expect(await ask(`host=${host} ${verifyFull()}`)).toBe("app");
    expect(existsSync(`${rig.data}.postgres/server.key`)).toBe(false);
  });
});
