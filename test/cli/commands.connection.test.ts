import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main, primary } from "../service/support/shop.ts";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents } from "./texts.ts";

const named = (more = "") => `connectionSecret: {name: a-db, database: neondb, role: neondb_owner${more}}`;
const adopted = (more = "") => compute("a", `adopt: {branchPrimary: true}, ${named(more)}`, main);
const shop = documents(connection, adopted(), compute("b", named()), compute("plain", "type: read_only"));

/** Has the service answer with this password. */
function withPassword(stage: Stage, password: string): void {
  stage.rewrite = ({ path }, response) => {
    if (!path.endsWith("/connection_uri")) return response;
    const uri = new URL(String(Object(response.body).uri));
    uri.password = encodeURIComponent(password);
    return { ...response, body: { uri: uri.href } };
  };
}

/** A stage whose Computes are applied, and the path of their manifests. */
async function applied(text: string): Promise<{ stage: Stage; path: string }> {
  const stage = new Stage();
  const path = stage.file("shop.yaml", text);
  expect(await stage.run("apply", ["-f", path, "--yes"])).toMatchObject({ status: 0, err: "" });
  return { stage, path };
}

describe("apply --connection-file", () => {
  test("writes what each connection Secret would hold, for its owner alone, and nothing of it to the terminal", async () => {
    using stage = new Stage();
    const path = stage.file("shop.yaml", shop);
    const file = join(stage.directory, "connections.json");
    const run = await stage.run("apply", ["-f", path, "--yes", "--connection-file", file]);
    expect(run).toMatchObject({ status: 0, err: "" });
    expect(run.out).toMatch(/^Written to connections\.json: 2 connections\.$/m);
    const written = JSON.parse(readFileSync(file, "utf8"));
    expect(Object.keys(written)).toEqual(["shop/a", "shop/b"]);
    expect(written["shop/a"]).toMatchObject({
      type: "postgresql",
      "endpoint-id": primary,
      database: "neondb",
      username: "neondb_owner",
      uri: expect.stringMatching(/^postgresql:\/\/neondb_owner:/),
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(run.out).not.toContain(written["shop/a"].password);
  });

  test("writes also where nothing was left to do, and gives a file that others could read to its owner alone", async () => {
    const { stage, path } = await applied(shop);
    using _ = stage;
    const file = stage.file("old.json", "old");
    expect(statSync(file).mode & 0o077).not.toBe(0);
    await stage.run("apply", ["-f", path, "--yes", "--connection-file", file]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(Object.keys(JSON.parse(readFileSync(file, "utf8")))).toEqual(["shop/a", "shop/b"]);
    expect(stage.writes).toHaveLength(2);
  });

  test("writes nothing where the plan did not come to its end", async () => {
    using stage = new Stage();
    stage.fate = ({ method }) => (method === "POST" ? 409 : "answered");
    const file = join(stage.directory, "connections.json");
    const path = stage.file("shop.yaml", shop);
    expect((await stage.run("apply", ["-f", path, "--yes", "--connection-file", file])).status).toBe(1);
    expect(existsSync(file)).toBe(false);
  });

  test("leaves the old file where a role is not at the service, and says which Compute names it", async () => {
    const { stage, path } = await applied(documents(connection, adopted().replace("neondb_owner", "nobody")));
    using _ = stage;
    const file = stage.file("old.json", "old");
    const run = await stage.run("apply", ["-f", path, "--yes", "--connection-file", file]);
    expect(run.status).toBe(1);
    expect(run.err).toContain('Compute shop/a: Branch br-aged-salad-637688 has no role "nobody"');
    expect(readFileSync(file, "utf8")).toBe("old");
  });

  test.each([
    ["a directory that is not there", "none/c.json", "none is no directory"],
    ["a directory", "taken", "taken is there, and is no file"],
    ["a link, which may lead to what others read", "link", "link is there, and is no file"],
  ])("refuses %s before anything is sent", async (_, name, said) => {
    using stage = new Stage();
    mkdirSync(join(stage.directory, "taken"));
    writeFileSync(join(stage.directory, "elsewhere"), "");
    symlinkSync(join(stage.directory, "elsewhere"), join(stage.directory, "link"));
    const file = join(stage.directory, name);
    const run = await stage.run("apply", ["-f", stage.file("a.yaml", shop), "--yes", "--connection-file", file]);
    expect(run).toMatchObject({ status: 1, err: expect.stringContaining(`--connection-file: ${said}`) });
    expect(stage.writes).toEqual([]);
  });

  test.each([
    ["standard output", "-", "- is no file: compute-operator connection NAME -o json prints a connection"],
    ["an empty name", "", '"" names no file'],
    ["a directory that is to be made", "none/", '"none/" names no file'],
    ["a directory that takes no files", "/proc/c.json", "ENOENT"],
  ])("refuses %s before anything is sent, and leaves no file", async (_, file, said) => {
    using stage = new Stage();
    const run = await stage.run("apply", ["-f", stage.file("a.yaml", shop), "--yes", "--connection-file", file]);
    expect(run).toMatchObject({ status: 1, err: expect.stringContaining(`--connection-file: ${said}`) });
    expect([stage.writes, readdirSync(stage.directory)]).toEqual([[], ["a.yaml"]]);
  });
});

describe("apply without --connection-file", () => {
  test("says in one line that no Secret is written, and the command that it names prints the URL", async () => {
    using stage = new Stage();
    const path = stage.file("two shops/it's.yaml", documents(connection, adopted()));
    const run = await stage.run("apply", ["-f", path, "--yes", "--fleet", "one", "-n", "shop"]);
    const [note = ""] = run.out.split("\n").filter((line) => line.startsWith("No Secret"));
    expect(note).toBe(
      String.raw`No Secret is written without a cluster. The URL: compute-operator connection shop/a -f 'two shops/it'\''s.yaml' -n shop --fleet one`,
    );
    const words = note.replace(/.*compute-operator connection /, "").replace("'two", `'${stage.directory}/two`);
    const { stdout } = spawnSync("sh", ["-c", `printf '%s\\n' ${words}`], { encoding: "utf8" });
    const printed = await stage.run("connection", stdout.trimEnd().split("\n"));
    expect(printed).toMatchObject({ status: 0, out: expect.stringMatching(/^postgresql:\/\/neondb_owner:\S+$/) });
  });

  test("names the first of several, and says nothing where no Compute names a Secret", async () => {
    using stage = new Stage();
    const several = await stage.run("apply", ["-f", stage.file("shop.yaml", shop), "--yes"]);
    expect(several.out).toContain("The URL of the first of 2: compute-operator connection shop/a -f shop.yaml");
    const none = await stage.run("apply", ["-f", stage.file("b.yaml", documents(connection, compute("b"))), "--yes"]);
    expect(none).toMatchObject({ status: 0, out: expect.not.stringContaining("No Secret") });
  });
});

describe("connection", () => {
  test.each(["a", "shop/a"])("%s prints the URL of the Compute, and only reads at the service", async (name) => {
    const { stage, path } = await applied(shop);
    using _ = stage;
    const before = stage.writes.length;
    const run = await stage.run("connection", [name, "-f", path]);
    expect(run).toMatchObject({ status: 0, err: "", out: expect.stringMatching(/^postgresql:\/\/\S+\/neondb\S*$/) });
    const pooled = await stage.run("connection", [name, "-f", path, "--pooled"]);
    expect(new URL(pooled.out).hostname).toBe(new URL(run.out).hostname.replace(primary, `${primary}-pooler`));
    expect(stage.writes).toHaveLength(before);
  });

  test("prints as JSON what the Secret would hold, with the keys of its template", async () => {
    const template = ', template: {data: {JDBC_URL: "jdbc:postgresql://{host}/{database}?password={password}"}}';
    const { stage, path } = await applied(documents(connection, adopted(template)));
    using _ = stage;
    withPassword(stage, "p@ss w");
    const { out } = await stage.run("connection", ["a", "-f", path, "-o", "json"]);
    const data = JSON.parse(out);
    expect(data).toMatchObject({ "endpoint-id": primary, port: "5432", password: "p@ss w" });
    expect(data.JDBC_URL).toBe(`jdbc:postgresql://${data.host}/neondb?password=p%40ss%20w`);
  });

  test("prints assignments that a shell takes as they are, whatever the password is", async () => {
    const template = ', template: {data: {JDBC_URL: "jdbc:postgresql://{host}", "not-a.name": "{host}"}}';
    const { stage, path } = await applied(documents(connection, adopted(template)));
    using _ = stage;
    const password = `p'a $(exit 3) "\\ \`w&`;
    withPassword(stage, password);
    const { out } = await stage.run("connection", ["a", "-f", path, "-o", "env"]);
    const script = `${out}\nprintf '%s|' "$PGHOST" "$PGPORT" "$PGUSER" "$PGPASSWORD" "$PGDATABASE" "$DATABASE_URL" "$JDBC_URL"`;
    const { stdout, status } = spawnSync("sh", ["-euc", script], { encoding: "utf8" });
    const uri = (await stage.run("connection", ["a", "-f", path])).out;
    const { hostname } = new URL(uri);
    const values = [hostname, "5432", "neondb_owner", password, "neondb", uri, `jdbc:postgresql://${hostname}`];
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${values.join("|")}|` });
    expect(out).not.toContain("not-a.name");
  });

  test("a password of two lines becomes no second variable", async () => {
    const { stage, path } = await applied(documents(connection, adopted()));
    using _ = stage;
    withPassword(stage, "first\nPATH=second");
    const run = await stage.run("connection", ["a", "-f", path, "-o", "env"]);
    expect(run).toMatchObject({
      status: 1,
      out: "",
      err: expect.stringContaining("PGPASSWORD has more than one line"),
    });
    expect(run.err).not.toContain("second");
  });

  test("in GitHub Actions the password and all that holds it is masked before it is printed, and nowhere else", async () => {
    const template = ', template: {data: {JDBC_URL: "jdbc:postgresql://{host}?password={password}", HOST: "{host}"}}';
    const { stage, path } = await applied(documents(connection, adopted(template)));
    using _ = stage;
    withPassword(stage, "p@ss w");
    expect((await stage.run("connection", ["a", "-f", path])).err).toBe("");
    stage.env = { GITHUB_ACTIONS: "true" };
    const order: string[] = [];
    const { connectionCommand } = await import("../../src/cli/commands/connection.ts");
    const ports = stage.ports(
      "",
      (line) => order.push(`out ${line}`),
      (line) => order.push(`err ${line}`),
    );
    expect(await connectionCommand(["a", "-f", path], ports)).toBe(0);
    const masked = order.slice(0, -1);
    const uri = order.at(-1)?.replace("out ", "") ?? "";
    expect(masked.every((line) => line.startsWith("err ::add-mask::"))).toBe(true);
    // The runner reads %25 as %.
    const values = masked.map((line) => line.replace("err ::add-mask::", "").replaceAll("%25", "%"));
    const host = new URL(uri).hostname;
    expect(values).toEqual([
      "p@ss w",
      "p%40ss%20w",
      uri,
      uri.replace(primary, `${primary}-pooler`),
      `jdbc:postgresql://${host}?password=p%40ss%20w`,
    ]);
    const file = join(stage.directory, "c.json");
    expect((await stage.run("apply", ["-f", path, "--yes", "--connection-file", file])).err).toContain(
      masked[0]?.slice(4),
    );
  });

  test.each([
    ["c", [], "the manifests have no Compute c: there are shop/a, shop/b, shop/bare, shop/late"],
    ["plain", [], "Compute shop/plain names no connection Secret: set spec.connectionSecret"],
    ["late", [], "Compute shop/late: it has no endpoint yet, which apply creates"],
    ["bare", [], "Compute shop/bare: there is no URI without database and role"],
    ["bare", ["-o", "env"], "Compute shop/bare: there is no URI without database and role"],
    ["a", ["-o", "xml"], '--output must be uri, env or json, not "xml"'],
    ["a", ["b"], "one name is taken, and here are more: a, b"],
  ])("refuses %s %j, and says why", async (name, flags, said) => {
    const bare = compute("bare", "connectionSecret: {name: x}, type: read_only");
    const { stage } = await applied(documents(shop, bare));
    using _ = stage;
    const path = stage.file("more.yaml", documents(shop, bare, compute("late", `type: read_only, ${named()}`)));
    const run = await stage.run("connection", [name, ...flags, "-f", path]);
    expect(run).toMatchObject({ status: 1, out: "", err: expect.stringContaining(said) });
  });

  test("a service that stores no passwords gets no URL without one printed, and no file written", async () => {
    const { stage, path } = await applied(documents(connection, adopted()));
    using _ = stage;
    withPassword(stage, "");
    const said = "stores no passwords in this project, so it shows none for role neondb_owner";
    for (const output of ["uri", "env", "json"]) {
      const run = await stage.run("connection", ["a", "-f", path, "-o", output]);
      expect(run).toMatchObject({ status: 1, out: "", err: expect.stringContaining(said) });
    }
    const file = join(stage.directory, "c.json");
    const run = await stage.run("apply", ["-f", path, "--yes", "--connection-file", file]);
    expect(run).toMatchObject({ status: 1, err: expect.stringContaining(said) });
    expect(existsSync(file)).toBe(false);
  });

  test("connection prints the first of two roles in turns, as a new Secret holds it", async () => {
    const roles = compute(
      "a",
      "adopt: {branchPrimary: true}, connectionSecret: {name: a-db, database: neondb, roles: [neondb_owner, other]}",
      main,
    );
    const { stage, path } = await applied(documents(connection, roles));
    using _ = stage;
    const run = await stage.run("connection", ["a", "-f", path]);
    expect(run).toMatchObject({ status: 0, out: expect.stringMatching(/^postgresql:\/\/neondb_owner:/) });
  });

  test("a name that two namespaces have is to be given with its namespace", async () => {
    using stage = new Stage();
    const other = adopted().replace("namespace: shop", "namespace: other");
    const path = stage.file(
      "two.yaml",
      documents(connection, connection.replaceAll("namespace: shop", "namespace: other"), adopted(), other),
    );
    const run = await stage.run("connection", ["a", "-f", path]);
    expect(run.err).toContain("the manifests have other/a and shop/a: write one of these instead of a");
  });
});
