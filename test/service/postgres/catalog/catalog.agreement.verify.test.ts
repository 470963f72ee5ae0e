import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { main, primary, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const branch = `/projects/${project}/branches/${main}`;
const endpoint = `/projects/${project}/endpoints/${primary}`;
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

/** After so long the service gives up on a server that does not answer, and shows what it knew before. */
const refreshLimitMs = 1000;

/** Names and owners, as the API shows them. An answer that took as long as that is asked for again. */
async function shown(): Promise<string[]> {
  const began = performance.now();
  const { body } = await rig.call("GET", `${branch}/databases`);
  if (performance.now() - began >= refreshLimitMs) return shown();
  const databases = z.array(z.looseObject({ name: z.string(), owner_name: z.string() })).parse(body["databases"]);
  return databases.map(({ name, owner_name }) => `${name} of ${owner_name}`).toSorted();
}

/** The same, as the server has them. */
async function present(): Promise<string[]> {
  const query = `SELECT datname || ' of ' || rolname AS one FROM pg_database JOIN pg_roles r ON r.oid = datdba
    WHERE NOT rolsuper ORDER BY datname`;
  return (await rig.query(uri, query)).map(({ one }) => String(one));
}

describe("a database", () => {
  it("a database that clients create with SQL is shown by the API at once, and found by its calls", async () => {
    await rig.query(uri, "CREATE DATABASE notes");
    expect(await shown()).toEqual(["neondb of neondb_owner", "notes of app", "stock of app"]);
    const made = await rig.call("POST", `${branch}/databases`, { database: { name: "notes", owner_name: "app" } });
    expect([made.status, made.body["message"]]).toEqual([409, 'database "notes" already exists']);
    expect(await rig.query(await rig.uri({ database: "notes" }), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  it("a database that clients give to another role belongs to that role in the API", async () => {
    await rig.query(uri, "CREATE ROLE keeper", "GRANT keeper TO app", "ALTER DATABASE notes OWNER TO keeper");
    expect(await shown()).toContain("notes of keeper");
  });

  it("a database that a role has made with SQL keeps the API from deleting the role", async () => {
    await rig.change("POST", `${branch}/roles`, { role: { name: "reader" } });
    const reader = await rig.uri({ role: "reader" });
    await rig.query(reader, "CREATE DATABASE hers");
    const refused = await rig.call("DELETE", `${branch}/roles/reader`);
    expect([refused.status, refused.body["message"]]).toEqual([422, expect.stringContaining('owns database "hers"')]);
    await rig.query(reader, "DROP DATABASE hers");
    const [deleted] = await rig.change("DELETE", `${branch}/roles/reader`);
    expect(deleted).toMatchObject({ status: "finished" });
  });

  it("a database that clients rename keeps its rows, whatever the API changes then", async () => {
    await rig.query(await rig.uri({ database: "notes" }), "SET ROLE keeper", "CREATE TABLE note AS SELECT 1 AS one");
    await rig.query(uri, "ALTER DATABASE notes RENAME TO memos");
    await rig.change("POST", `${branch}/roles`, { role: { name: "writer" } });
    expect(await shown()).toEqual(["memos of keeper", "neondb of neondb_owner", "stock of app"]);
    expect(await rig.query(await rig.uri({ database: "memos" }), "TABLE note")).toEqual([{ one: 1 }]);
  });

  it("a database whose name is no UTF-8 gets a name that can be read, and keeps its rows", async () => {
    const bytes = "CREATE DATABASE bytes TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C'";
    await rig.query(uri, "CREATE DATABASE odd", bytes);
    await rig.query(await rig.uri({ database: "odd" }), "CREATE TABLE note AS SELECT 1 AS one");
    const rename = `DO $$ BEGIN EXECUTE format('ALTER DATABASE odd RENAME TO %I', E'odd\\xff'); END $$`;
    await rig.query(await rig.uri({ database: "bytes" }), rename);
    const [name = ""] = /database_\d+_[0-9a-f]{8}(?= of app)/.exec((await shown()).join()) ?? [];
    expect(await rig.query(await rig.uri({ database: name }), "TABLE note")).toEqual([{ one: 1 }]);
    expect(await present()).toEqual(await shown());
    await rig.query(uri, `DROP DATABASE ${name}`, "DROP DATABASE bytes");
  });

  it("a database that clients drop is gone in the API, and no change or start makes it again, empty", async () => {
    await rig.query(await rig.uri({ role: "neondb_owner" }), "DROP DATABASE neondb");
    await rig.query(uri, "DROP DATABASE memos");
    expect(await shown()).toEqual(["stock of app"]);
    await rig.change("DELETE", `${branch}/roles/writer`);
    expect(await present()).toEqual(["stock of app"]);
    await rig.change("POST", `${endpoint}/restart`);
    expect(await present()).toEqual(["stock of app"]);
    expect(await shown()).toEqual(["stock of app"]);
  });

  it("a database that clients have changed shortly before their compute is suspended is so in the API meanwhile", async () => {
    await rig.query(uri, "CREATE DATABASE late");
    await rig.change("POST", `${endpoint}/suspend`);
    expect(await shown()).toEqual(["late of app", "stock of app"]);
    expect((await rig.endpoint()).current_state).toBe("idle");
  });

  it("a database that clients drop shortly before the service is killed is gone with the next start of the compute", async () => {
    await rig.query(uri, "DROP DATABASE late");
    await rig.kill();
    await rig.start();
    uri = await rig.uri();
    expect(await present()).toEqual(["stock of app"]);
    expect(await shown()).toEqual(["stock of app"]);
  });

  it("a database that the API has taken away while the compute slept is dropped, and one that it has made is made", async () => {
    await rig.query(uri, "CREATE DATABASE short");
    await rig.change("POST", `${endpoint}/suspend`);
    await rig.change("DELETE", `${branch}/databases/short`);
    await rig.change("POST", `${branch}/databases`, { database: { name: "long", owner_name: "app" } });
    expect(await present()).toEqual(["long of app", "stock of app"]);
    expect(await shown()).toEqual(["long of app", "stock of app"]);
  });
});

it("shows the databases of a branch that were copied with its parent's data", async () => {
  await rig.query(uri, "CREATE DATABASE copied");
  const wanted = { branch: { parent_id: main }, endpoints: [{ type: "read_write" }] };
  const { body } = await rig.call("POST", `/projects/${project}/branches`, wanted);
  const { id } = z.looseObject({ id: z.string() }).parse(body["branch"]);
  await rig.settled();
  const there = await rig.call("GET", `/projects/${project}/branches/${id}/databases`);
  expect(JSON.stringify(there.body)).toContain('"name":"copied"');
});

describe("databases that the API has changed while no compute could run", () => {
  const note = (database: string, place: { endpoint?: string } = {}) =>
    rig.uri({ database, ...place }).then((there) => rig.query(there, "SELECT text FROM note"));
  const make = async (...names: string[]) => {
    for (const name of names) {
      await rig.change("POST", `${branch}/databases`, { database: { name, owner_name: "app" } });
      await rig.query(
        await rig.uri({ database: name }),
        "CREATE TABLE note (text text)",
        `INSERT INTO note VALUES ('${name}')`,
      );
    }
  };
  const disable = (disabled: boolean) => rig.change("PATCH", endpoint, { endpoint: { disabled } });
  const rename = (from: string, to: string) =>
    rig.change("PATCH", `${branch}/databases/${from}`, { database: { name: to } });
  /** Makes a branch with a compute from the data as it is; answers its compute. */
  const child = async () => {
    const { body } = await rig.call("POST", `/projects/${project}/branches`, {
      branch: {},
      endpoints: [{ type: "read_write" }],
    });
    await rig.settled();
    const [{ id } = { id: "" }] = z.array(z.looseObject({ id: z.string() })).parse(body["endpoints"]);
    return { endpoint: id };
  };

  it("databases that were renamed in a row, or in a circle, keep their rows, here and in a branch", async () => {
    await make("one", "two", "left", "right");
    await disable(true);
    for (const [from, to] of [
      ["two", "three"],
      ["one", "two"],
      ["left", "between"],
      ["right", "left"],
      ["between", "right"],
    ] as const) {
      await rename(from, to);
    }
    const below = await child();
    await disable(false);
    for (const place of [{}, below]) {
      expect(await note("two", place)).toEqual([{ text: "one" }]);
      expect(await note("three", place)).toEqual([{ text: "two" }]);
      expect(await note("left", place)).toEqual([{ text: "right" }]);
      expect(await note("right", place)).toEqual([{ text: "left" }]);
    }
  });

  it("a database that was deleted and made again is empty, and one that took the name of a deleted one keeps its rows", async () => {
    await make("old", "gone", "kept");
    await disable(true);
    await rig.change("DELETE", `${branch}/databases/old`);
    await rig.change("POST", `${branch}/databases`, { database: { name: "old", owner_name: "app" } });
    await rig.change("DELETE", `${branch}/databases/gone`);
    await rename("kept", "gone");
    const below = await child();
    await disable(false);
    for (const place of [{}, below]) {
      await expect(note("old", place)).rejects.toThrow(/relation "note" does not exist/);
      expect(await note("gone", place)).toEqual([{ text: "kept" }]);
    }
  });
});
