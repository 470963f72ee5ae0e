import { Client, type NeonQueryFunction, neon, neonConfig, Pool } from "@neondatabase/serverless";
import { beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { primary, project } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

const rig = usePostgresRig();
let uri: string;
let sql: NeonQueryFunction<false, false>;
beforeAll(async () => {
  uri = await rig.uri();
  neonConfig.fetchEndpoint = `http://${rig.serviceAddress}/sql`;
  neonConfig.wsProxy = `${rig.serviceAddress}/v2`;
  neonConfig.useSecureWebSocket = false;
  neonConfig.webSocketConstructor = WebSocket;
  sql = neon(uri);
  await sql`CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL, made timestamptz, tags text[])`;
  await sql`INSERT INTO item VALUES (1, 'bolt', '2026-01-02T03:04:05Z', ${["a", "b"]})`;
});

describe("the serverless driver over HTTP", () => {
  it("wakes an idle compute", async () => {
    await rig.change("POST", `/projects/${project}/endpoints/${primary}/suspend`);
    expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }]);
    expect((await rig.endpoint()).current_state).toBe("active");
  });

  it("answers rows with values of their types, and NULL", async () => {
    expect(await sql`SELECT id, name, made, tags, NULL AS none FROM item WHERE id = ${1}`).toEqual([
      { id: 1, name: "bolt", made: new Date("2026-01-02T03:04:05Z"), tags: ["a", "b"], none: null },
    ]);
  });

  it("answers arrays and whole results where that is asked for", async () => {
    expect(await sql.query("SELECT id, name FROM item", [], { arrayMode: true })).toEqual([[1, "bolt"]]);
    const whole = await sql.query("UPDATE item SET name = $1 RETURNING name", ["bolt"], { fullResults: true });
    expect(whole).toMatchObject({
      command: "UPDATE",
      rowCount: 1,
      rows: [{ name: "bolt" }],
      fields: [{ name: "name", dataTypeID: 25 }],
    });
    expect(await sql.query("SELECT 1 WHERE false", [], { fullResults: true })).toMatchObject({ rows: [], rowCount: 0 });
  });

  it("runs a batch as one transaction, with the options of that", async () => {
    const [, level] = await sql.transaction([sql`SELECT 1`, sql`SHOW transaction_isolation`], {
      isolationLevel: "Serializable",
      readOnly: true,
      deferrable: true,
    });
    expect(level).toEqual([{ transaction_isolation: "serializable" }]);
    const writing = sql.transaction([sql`INSERT INTO item VALUES (2, 'nut')`], { readOnly: true });
    await expect(writing).rejects.toMatchObject({ code: "25006" });
    const failing = sql.transaction([sql`INSERT INTO item VALUES (2, 'nut')`, sql`INSERT INTO item VALUES (2, 'nut')`]);
    await expect(failing).rejects.toMatchObject({ code: "23505" });
    expect(await sql`SELECT count(*)::int AS n FROM item`).toEqual([{ n: 1 }]);
  });

  it("answers an error of Postgres with its fields", async () => {
    await expect(sql`INSERT INTO item (id) VALUES (3)`).rejects.toMatchObject({
      name: "NeonDbError",
      message: 'null value in column "name" of relation "item" violates not-null constraint',
      severity: "ERROR",
      code: "23502",
      detail: expect.stringContaining("Failing row contains"),
      schema: "public",
      table: "item",
      column: "name",
      routine: expect.any(String),
    });
    await expect(sql`SELECT nothing`).rejects.toMatchObject({ code: "42703", position: "8" });
  });

  it("refuses a wrong password, an unknown compute, the servers' own role and what is no URI", async () => {
    await expect(neon(uri.replace(/:npg_[^@]*@/, ":wrong@"))`SELECT 1`).rejects.toMatchObject({ code: "28P01" });
    await expect(neon(uri.replace(primary, "ep-none"))`SELECT 1`).rejects.toThrow(/there is no compute ep-none/);
    await expect(neon(uri.replace("//app:", "//cloud_admin:"))`SELECT 1`).rejects.toThrow(/not permitted to log in/);
    const bare = await fetch(`http://${rig.serviceAddress}/sql`, { method: "POST", body: '{"query":"SELECT 1"}' });
    expect([bare.status, await bare.json()]).toEqual([
      400,
      expect.objectContaining({ message: "the header Neon-Connection-String must be a connection URI of Postgres" }),
    ]);
  });

  it("refuses the token of the driver's authToken with the reason, in place of the rights of the URI's role", async () => {
    const withToken = neon(uri, { authToken: "eyJhbGciOiJFUzI1NiJ9.e30.x" });
    await expect(withToken`SELECT 1`).rejects.toMatchObject({
      code: "28000",
      message: expect.stringContaining("verifies no tokens"),
    });
  });

  it("takes JSON arrays, objects and long numbers as parameters, as clients without the driver send them", async () => {
    const values = [
      [
        [1, 2],
        [3, null],
      ],
      ["a,b", 'say "hi"', "back\\slash", "new\nline", "", "NULL", null],
      { a: [1] },
    ];
    const params = `[9007199254740993,${JSON.stringify(values).slice(1)}`;
    const answer = await fetch(`http://${rig.serviceAddress}/sql`, {
      method: "POST",
      headers: { "neon-connection-string": uri },
      body: `{"query":"SELECT $1::int8::text AS n, to_json($2::int[]) AS grid, to_json($3::text[]) AS words, $4::jsonb AS o","params":${params}}`,
    });
    const [grid, words, o] = values;
    expect(await answer.json()).toMatchObject({ rows: [{ n: "9007199254740993", grid, words, o }] });
  });

  it("answers values as JSON to clients that do not ask for text, as the driver does", async () => {
    const query = `SELECT true AS b, 7::int2 AS s, 8 AS i, 9::int8 AS l, 1.50 AS n, 0.1::float8 AS f, 'NaN'::float4 AS e,
      '{"a": [1]}'::jsonb AS j, ARRAY[1, NULL] AS g, ARRAY['a "b"', NULL] AS w, ARRAY[]::text[] AS z,
      '[0:1]={t,f}'::bool[] AS y, ARRAY['{"c": 2}'::json] AS k, '2026-01-02'::date AS d, NULL::int AS x`;
    const headers = { "neon-connection-string": uri };
    const asked = async (more = {}): Promise<unknown> => {
      const request = { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify({ query }) };
      return (await fetch(`http://${rig.serviceAddress}/sql`, request)).json();
    };
    const scalars = { b: true, s: 7, i: 8, l: "9", n: "1.50", f: 0.1, e: "NaN", d: "2026-01-02", x: null };
    const others = { j: { a: [1] }, g: [1, null], w: ['a "b"', null], z: [], y: [true, false], k: [{ c: 2 }] };
    expect(await asked()).toMatchObject({ rows: [{ ...scalars, ...others }] });
    const text = { b: "t", i: "8", j: '{"a": [1]}', g: "{1,NULL}", y: "[0:1]={t,f}", x: null };
    expect(await asked({ "neon-raw-text-output": "true" })).toMatchObject({ rows: [text] });
  });

  it("may be called by pages of any site, which a browser asks first", async () => {
    const url = `http://${rig.serviceAddress}/sql`;
    const asked = {
      origin: "https://shop.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type,neon-connection-string,neon-raw-text-output,neon-array-mode",
    };
    const { status, headers } = await fetch(url, { method: "OPTIONS", headers: asked });
    expect([status, headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
    expect(headers.get("access-control-allow-methods")).toContain("POST");
    const allowed = headers.get("access-control-allow-headers")?.toLowerCase().split(", ");
    expect(allowed).toEqual(expect.arrayContaining(asked["access-control-request-headers"].split(",")));
    const given = { origin: asked.origin, "neon-connection-string": uri };
    for (const [query, expected] of [
      ["SELECT 1", 200],
      ["SELECT nothing", 400],
    ] as const) {
      const answer = await fetch(url, { method: "POST", headers: given, body: JSON.stringify({ query }) });
      expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([expected, "*"]);
    }
    // The API is not for pages of other sites.
    const api = await fetch(`http://${rig.serviceAddress}/api/v2/projects`, { headers: { origin: asked.origin } });
    expect(api.headers.get("access-control-allow-origin")).toBeNull();
  });

  it("ends a statement whose caller no longer waits", async () => {
    const gone = new AbortController();
    const sleeping = sql.query("SELECT pg_sleep(300) AS nap", [], { fetchOptions: { signal: gone.signal } }).then(
      () => "it ran to its end",
      (error: unknown) => String(error),
    );
    const naps =
      "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%AS nap%' AND state = 'active' AND pid <> pg_backend_pid()";
    await expect.poll(() => sql.query(naps)).toHaveLength(1);
    gone.abort();
    expect(await sleeping).toMatch(/abort/i);
    await expect.poll(() => sql.query(naps)).toHaveLength(0);
  });

  it("takes and gives a megabyte, and refuses data for COPY", async () => {
    const long = "x".repeat(1_500_000);
    expect(await sql`SELECT ${long}::text AS long`).toEqual([{ long }]);
    await expect(sql`COPY item FROM STDIN`).rejects.toThrow(/no data can be sent here/);
  });
});

it("the driver logs in with the passwords that Postgres takes: prepared, or as they are where the rules refuse them", async () => {
  const passwords = [
    "pass\u00adword",
    "a\u3000b\u200bc",
    "\ufb01sh",
    "A\u030a",
    "\u05d0\u00ad",
    "\ufb01\u{1f642}",
    "\ufb01\u05d0",
    "\u00ad",
  ];
  await sql`CREATE ROLE wordy LOGIN`;
  const taken: string[] = [];
  for (const password of passwords) {
    await sql.query(`ALTER ROLE wordy PASSWORD '${password}'`);
    const login = new URL(uri);
    Object.assign(login, { username: "wordy", password: encodeURIComponent(password) });
    expect(await neon(login.href)`SELECT current_user AS name`).toEqual([{ name: "wordy" }]);
    const client = new Client(login.href);
    await client.connect();
    const { rows } = await client.query("SELECT current_user AS name");
    expect(rows).toEqual([{ name: "wordy" }]);
    await client.end();
    taken.push(password);
  }
  expect(taken).toEqual(passwords);
});

it("no answer ends the service: not one that is longer than a string may be, nor a password of many iterations", async () => {
  await expect(sql`SELECT repeat('x', 600000000)`).rejects.toThrow(
    /larger than 67108864 bytes: ask for less, or take a session/,
  );
  const key = Buffer.alloc(32).toString("base64");
  await sql.query(`CREATE ROLE spin LOGIN PASSWORD 'SCRAM-SHA-256$30000:c2FsdA==$${key}:${key}'`);
  await expect(neon(uri.replace("//app:", "//spin:"))`SELECT 1`).rejects.toThrow(/30000 SCRAM iterations/);
  expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }]);
});

describe("the serverless driver over a WebSocket", () => {
  it("holds a session: transactions, prepared statements and settings", async () => {
    const client = new Client(uri);
    await client.connect();
    await client.query("BEGIN");
    await client.query("INSERT INTO item VALUES ($1, $2)", [9, "rivet"]);
    expect((await client.query("SELECT name FROM item WHERE id = $1", [9])).rows).toEqual([{ name: "rivet" }]);
    await client.query("ROLLBACK");
    expect((await client.query("SELECT 1 FROM item WHERE id = 9")).rowCount).toBe(0);
    await client.end();
  });

  it("logs in also where the driver waits for the server's question", async () => {
    const client = new Client(uri);
    client.neonConfig.pipelineConnect = false;
    await client.connect();
    expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await client.end();
  });

  it("serves a pool of clients, with notices and large results", async () => {
    const pool = new Pool({ connectionString: uri, max: 3 });
    const many = await Promise.all(
      Array.from({ length: 9 }, (_, n) =>
        pool.query("SELECT $1::int AS n, repeat('x', 100000) AS text FROM generate_series(1, 10)", [n]),
      ),
    );
    expect(many.map(({ rows }) => [rows.length, rows[0]?.n, rows[9]?.text.length])).toEqual(
      many.map((_, n) => [10, n, 100_000]),
    );
    await pool.end();
  });

  it("refuses a wrong password as the server does", async () => {
    const client = new Client(uri.replace(/:npg_[^@]*@/, ":wrong@"));
    client.neonConfig.pipelineConnect = false;
    await expect(client.connect()).rejects.toMatchObject({ code: "28P01" });
  });

  it("a WebSocket is cut by a suspended compute with Postgres's own error, and wakes it again", async () => {
    const client = new Client(uri);
    const ended = new Promise<Error>((resolve) => client.on("error", resolve));
    await client.connect();
    await client.query("SELECT 1");
    await rig.change("POST", `/projects/${project}/endpoints/${primary}/suspend`);
    expect((await ended).message).toMatch(/terminating connection due to administrator command/);
    const next = new Client(uri);
    await next.connect();
    expect((await next.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await next.end();
  });

  it("a WebSocket is refused at another path", async () => {
    const elsewhere = new WebSocket(`ws://${rig.serviceAddress}/elsewhere`);
    const error = await new Promise<Error>((resolve) => elsewhere.on("error", resolve));
    expect(error.message).toContain("404");
  });
});
