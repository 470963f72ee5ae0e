import { expect, it } from "vitest";
import { main, primary, project } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

const rig = usePostgresRig();
const path = `/app/projects/${project}/branches/${main}/query`;

/** A person at the console, over HTTP. */
class Person {
  cookie = "";
  token = "";

  async request(at: string, fields?: Record<string, string>): Promise<{ status: number; html: string }> {
    const answer = await fetch(`http://${rig.serviceAddress}${at}`, {
      redirect: "manual",
      headers: { cookie: this.cookie },
      ...(fields && { method: "POST", body: new URLSearchParams({ token: this.token, ...fields }) }),
    });
    this.cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? this.cookie;
    const html = await answer.text();
    this.token = /name="token" value="([^"]+)"/.exec(html)?.[1] ?? this.token;
    return { status: answer.status, html };
  }

  async signIn(): Promise<this> {
    await this.request("/");
    await this.request("/app/sign-in", { account: "acc-ana" });
    await this.request(path);
    return this;
  }

  async ask(sql: string, more: Record<string, string> = {}): Promise<{ status: number; html: string }> {
    const found = await this.request(path, { compute: primary, database: "stock", role: "app", sql, ...more });
    return { ...found, html: found.html.replace(/<textarea.*?<\/textarea>/s, "") };
  }
}

it("a statement of the console runs as its role, only reads by default, and wakes the compute", async () => {
  const ana = await new Person().signIn();
  const writes = { writes: "true" };
  expect(
    (await ana.ask("SELECT current_user || ' ' || current_setting('default_transaction_read_only')")).html,
  ).toContain("<td>app on</td>");
  const made = await ana.ask("CREATE TABLE items (id int)", writes);
  expect([made.status, made.html.includes("CREATE TABLE")]).toEqual([200, true]);
  const refused = await ana.ask("INSERT INTO items VALUES (1)");
  expect([refused.status, refused.html.includes("read-only transaction")]).toEqual([422, true]);
  // More rows than are shown are written all the same.
  const many = await ana.ask("INSERT INTO items SELECT generate_series(1, 1000) RETURNING id", writes);
  expect([many.status, many.html.match(/<tr>/g)?.length, many.html.includes("there are more")]).toEqual([
    200,
    201,
    true,
  ]);
  expect((await ana.ask("SELECT count(*) FROM items")).html).toContain("<td>1000</td>");
});

it.each([
  "SET default_transaction_read_only = off; INSERT INTO escaped VALUES (1)",
  "SET TRANSACTION READ WRITE",
  "DO $$ BEGIN PERFORM set_config('transaction_read_only', 'off', true); INSERT INTO escaped VALUES (1); END $$",
  "DO $$ BEGIN PERFORM set_config('default_transaction_read_only', 'off', false); COMMIT; INSERT INTO escaped VALUES (1); END $$",
  "COMMIT; INSERT INTO escaped VALUES (1)",
  "COPY escaped FROM STDIN",
  "WITH x AS (INSERT INTO escaped VALUES (1) RETURNING id) SELECT * FROM x",
  "COPY (SELECT 1) TO '/tmp/escaped'",
])("a statement that only reads does not get out of it with %j", async (sql) => {
  const ana = await new Person().signIn();
  await ana.ask("CREATE TABLE IF NOT EXISTS escaped (id int)", { writes: "true" });
  const { status } = await ana.ask(sql);
  expect([200, 422]).toContain(status);
  expect((await ana.ask("SELECT count(*) FROM escaped")).html).toContain("<td>0</td>");
});

it("a statement of the console ends after its time, and with an answer that is too large, and the session with it", async () => {
  const ana = await new Person().signIn();
  const slow = await ana.ask("SELECT pg_sleep(60)");
  expect([slow.status, slow.html.includes("statement timeout")]).toEqual([422, true]);
  const sly = await ana.ask("SELECT set_config('statement_timeout', '0', false), pg_sleep(60)");
  expect(sly.status).toBe(422);
  const large = await ana.ask("SELECT repeat('x', 2000000)");
  expect([large.status, large.html.includes("larger than 1048576 bytes")]).toEqual([422, true]);
  const left =
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'compute-console' AND pid <> pg_backend_pid()";
  await expect.poll(async () => (await ana.ask(left)).html).toContain("<td>0</td>");
});

it("a fifth statement of one account at one time is refused", async () => {
  const ana = await new Person().signIn();
  const { token } = ana;
  const running = Array.from({ length: 5 }, () => ana.ask("SELECT pg_sleep(3)", { token }));
  const statuses = (await Promise.all(running)).map(({ status }) => status);
  expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 200, 200, 200, 429]);
});

it("a statement that catches the error of its time limit ends with its process", async () => {
  const ana = await new Person().signIn();
  const loop = "LOOP BEGIN PERFORM pg_sleep(100); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP";
  const deaf = await ana.ask(`DO $$ BEGIN ${loop}; END $$`);
  expect([deaf.status, deaf.html.includes("took too long")]).toEqual([422, true]);
  const left = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%query_canceled%' AND pid <> pg_backend_pid()";
  await expect.poll(async () => (await ana.ask(left)).html).toContain("<td>0</td>");
});

it.each([
  ["copied data", "COPY (SELECT repeat('x', 1000) FROM generate_series(1, 1000000)) TO STDOUT"],
  ["notices", "DO $$ BEGIN LOOP RAISE NOTICE '%', repeat('x', 1000); END LOOP; END $$"],
])("a statement that answers with too much of %s is ended before its time", async (_, sql) => {
  const ana = await new Person().signIn();
  const large = await ana.ask(sql);
  expect([large.status, large.html.includes("larger than 1048576 bytes")]).toEqual([422, true]);
});

it("a statement with many columns shows fewer rows, and one with a long text of any script is taken", async () => {
  const ana = await new Person().signIn();
  const columns = Array.from({ length: 1600 }, (_, index) => `'"' AS c${index}`).join(", ");
  const wide = await ana.ask(`SELECT ${columns} FROM generate_series(1, 50)`);
  expect([
    wide.status,
    wide.html.match(/<tr>/g)?.length,
    wide.html.includes("The first 12 rows: there are more"),
  ]).toEqual([200, 13, true]);
  const long = await ana.ask(`SELECT length('${"語".repeat(19_900)}')`);
  expect([long.status, long.html.includes("<td>19900</td>")]).toEqual([200, true]);
});

it("a statement that may change something and fails is not said to have changed nothing", async () => {
  const ana = await new Person().signIn();
  const writes = { writes: "true" };
  await ana.ask("CREATE TABLE kept (id int)", writes);
  const failed = await ana.ask("DO $$ BEGIN INSERT INTO kept VALUES (1); COMMIT; PERFORM 1 / 0; END $$", writes);
  expect([failed.status, failed.html.includes("but for what the statement had committed before")]).toEqual([422, true]);
  expect((await ana.ask("SELECT count(*) FROM kept")).html).toContain("<td>1</td>");
});
