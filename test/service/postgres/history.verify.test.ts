import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { CreatedBranch, main, primary, project } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

const branches = `/projects/${project}/branches`;
const rig = usePostgresRig();
let uri: string;
/** When the tables held `early` alone. */
let then: { time: string; lsn: string };
beforeAll(async () => {
  uri = await rig.uri();
  await rig.query(uri, "CREATE TABLE item (name text)", "INSERT INTO item VALUES ('early')");
  await sleep(50);
  const time = new Date().toISOString();
  const [row] = await rig.query(uri, "SELECT pg_current_wal_flush_lsn() AS lsn");
  then = { time, lsn: z.string().parse(row?.["lsn"]) };
  await sleep(50);
  await rig.query(uri, "INSERT INTO item VALUES ('late')", "CREATE ROLE later LOGIN PASSWORD 'later'");
});

/** Makes a branch with a compute; answers its id and what its table holds. */
async function branchAt(branch: object): Promise<{ id: string; items: string[] }> {
  const reply = await rig.call("POST", branches, { branch, endpoints: [{ type: "read_write" }] });
  if (reply.status >= 300) throw new Error(JSON.stringify(reply));
  const made = CreatedBranch.parse(reply.body);
  await rig.settled();
  return { id: made.branch.id, items: await items(made.endpoints[0]?.id) };
}

async function items(endpoint: string | undefined): Promise<string[]> {
  const there = await rig.uri({ endpoint: endpoint ?? "" });
  return (await rig.query(there, "SELECT name FROM item ORDER BY name")).map(({ name }) => z.string().parse(name));
}

describe("a branch", () => {
  let child: string;

  it("begins at a time or at an LSN of its parent, and goes on from there", async () => {
    expect((await branchAt({ parent_timestamp: then.time })).items).toEqual(["early"]);
    expect((await branchAt({ parent_lsn: then.lsn })).items).toEqual(["early"]);
    const now = await branchAt({});
    expect(now.items).toEqual(["early", "late"]);
    child = now.id;
  });

  it("a branch has its parent's past, from before it was made", async () => {
    expect((await branchAt({ parent_id: child, parent_timestamp: then.time })).items).toEqual(["early"]);
  });

  it("a branch has the past of a parent that was itself copied from a running one, back to between the two copies", async () => {
    const made = async (parent_id: string) => {
      const { body } = await rig.call("POST", branches, { branch: { parent_id }, endpoints: [{ type: "read_write" }] });
      await rig.settled();
      const { branch, endpoints } = CreatedBranch.parse(body);
      return { id: branch.id, uri: await rig.uri({ endpoint: endpoints[0]?.id ?? "" }) };
    };
    const first = await made(main);
    await rig.query(first.uri, "INSERT INTO item VALUES ('middle')");
    await sleep(50);
    const parent_timestamp = new Date().toISOString();
    await sleep(50);
    await rig.query(first.uri, "DELETE FROM item");
    const second = await made(first.id);
    await rig.query(second.uri, "SELECT 1");
    expect((await branchAt({ parent_id: second.id, parent_timestamp })).items).toEqual(["early", "late", "middle"]);
  });

  it("a replica follows a branch that was copied from a running one, which began in its parent's past", async () => {
    const made = async (branch: object, types: readonly string[]) => {
      const { body } = await rig.call("POST", branches, { branch, endpoints: types.map((type) => ({ type })) });
      await rig.settled();
      return CreatedBranch.parse(body);
    };
    const { branch: past } = await made({ parent_timestamp: then.time }, ["read_write"]);
    const { endpoints } = await made({ parent_id: past.id }, ["read_write", "read_only"]);
    const [own, replica] = endpoints.map(({ id }) => id);
    await rig.query(await rig.uri({ endpoint: own ?? "" }), "INSERT INTO item VALUES ('new')");
    await expect.poll(() => items(replica), { timeout: 20_000 }).toEqual(["early", "new"]);
  });

  it("a branch of an idle parent begins in its past too, and a branch of that one in both", async () => {
    await rig.change("POST", `/projects/${project}/endpoints/${primary}/suspend`);
    const past = await branchAt({ parent_timestamp: then.time });
    expect(past.items).toEqual(["early"]);
    expect((await rig.endpoint()).current_state).toBe("idle");
    const again = await branchAt({ parent_id: past.id, parent_timestamp: then.time });
    expect(again.items).toEqual(["early"]);
  });

  it("begins before a database was dropped, with its rows, though nothing was committed in between", async () => {
    await rig.change("POST", `${branches}/${main}/databases`, { database: { name: "lost", owner_name: "app" } });
    const inside = await rig.uri({ database: "lost" });
    await rig.query(inside, "CREATE TABLE item (name text)", "INSERT INTO item VALUES ('kept')");
    const [row] = await rig.query(uri, "SELECT pg_current_wal_insert_lsn() AS lsn");
    const parent_lsn = z.string().parse(row?.["lsn"]);
    await sleep(50);
    const parent_timestamp = new Date().toISOString();
    await sleep(50);
    await rig.query(uri, "DROP DATABASE lost WITH (FORCE)");
    for (const point of [{ parent_timestamp }, { parent_lsn }]) {
      const reply = await rig.call("POST", branches, { branch: point, endpoints: [{ type: "read_write" }] });
      await rig.settled();
      const [endpoint] = CreatedBranch.parse(reply.body).endpoints;
      const there = await rig.uri({ endpoint: endpoint?.id ?? "", database: "lost" });
      expect(await rig.query(there, "SELECT name FROM item")).toEqual([{ name: "kept" }]);
    }
  });

  it("cannot begin before the history, nor after the end of the log", async () => {
    const early = { branch: { parent_timestamp: new Date(Date.now() - 86_000_000).toISOString() } };
    expect((await rig.call("POST", branches, early)).status).toBe(422);
    const before = await rig.call("POST", branches, { branch: { parent_lsn: "0/1" } });
    expect([before.status, before.body["message"]]).toEqual([422, expect.stringContaining("parent_lsn lies before")]);
    const { body } = await rig.call("POST", branches, { branch: { parent_lsn: "FF/0" } });
    await rig.settled();
    const [failed] = await rig.operations();
    expect(failed).toMatchObject({ status: "failed", error: expect.stringContaining("after the end of the log") });
    await rig.change("DELETE", `${branches}/${z.looseObject({ id: z.string() }).parse(body["branch"]).id}`);
  });

  it("a branch with the schema alone has no past that would show its parent's rows", async () => {
    const { id } = await branchAt({ init_source: "schema-only" });
    const past = { branch: { parent_id: id, parent_timestamp: then.time } };
    const { status, body } = await rig.call("POST", branches, past);
    expect([status, body["message"]]).toEqual([422, expect.stringContaining("before the history of the branch")]);
  });
});

describe("a restore", () => {
  it("a restore of a branch from its own past gives it the rows, roles and databases of then, and keeps those of now", async () => {
    await rig.change("POST", `${branches}/${main}/databases`, { database: { name: "young", owner_name: "app" } });
    await rig.change("POST", `${branches}/${main}/roles/app/reset_password`);
    const wanted = { source_branch_id: main, source_timestamp: then.time, preserve_under_name: "before" };
    const operations = await rig.change("POST", `${branches}/${main}/restore`, wanted);
    expect(operations.map(({ status }) => status)).not.toContain("failed");
    expect(await items(primary)).toEqual(["early"]);
    const names = z.array(z.looseObject({ name: z.string() }));
    const { body } = await rig.call("GET", `${branches}/${main}/databases`);
    expect(names.parse(body["databases"]).map(({ name }) => name)).toEqual(["neondb", "stock"]);
    const found = await rig.call("GET", `${branches}?search=before`);
    const [kept] = z.array(z.looseObject({ id: z.string() })).parse(found.body["branches"]);
    const [started] = await rig.change("POST", `/projects/${project}/endpoints`, {
      endpoint: { branch_id: kept?.id, type: "read_write" },
    });
    expect(await items(started?.endpoint_id)).toEqual(["early", "late"]);
  });

  it("a restore to before the API made a role, whose name one of SQL had, gives it that one, with its password", async () => {
    const direct = new URL(await rig.uri());
    await rig.query(direct.href, "CREATE ROLE early LOGIN PASSWORD 'known'");
    await sleep(50);
    const wanted = { source_branch_id: main, source_timestamp: new Date().toISOString(), preserve_under_name: "made" };
    await sleep(50);
    await rig.newRole("early");
    await rig.change("POST", `${branches}/${main}/restore`, wanted);
    expect((await rig.call("GET", `${branches}/${main}/roles/early`)).status).toBe(404);
    Object.assign(direct, { username: "early", password: "known" });
    expect(await rig.query(direct.href, "SELECT current_user AS is")).toEqual([{ is: "early" }]);
  });

  it("can be repeated to a moment after it, over the restart of the service", async () => {
    await rig.query(await rig.uri(), "INSERT INTO item VALUES ('second')");
    await sleep(50);
    const time = new Date().toISOString();
    await sleep(50);
    await rig.query(await rig.uri(), "DELETE FROM item");
    await rig.kill();
    await rig.start();
    expect((await branchAt({ parent_timestamp: time })).items).toEqual(["early", "second"]);
  });
});

describe("a role whose password was given away", () => {
  const roles = `${branches}/${main}/roles`;
  const expectRefused = (login: string) =>
    expect(rig.query(login, "SELECT 1")).rejects.toThrow(/password authentication failed/);
  const rolesOf = async (branch: string) => {
    const { body } = await rig.call("GET", `${branches}/${branch}/roles`);
    return z
      .array(z.looseObject({ name: z.string() }))
      .parse(body["roles"])
      .map(({ name }) => name);
  };
  const at = (login: string, endpoint: string) => login.replace(/endpoint%3D[\w-]+/, `endpoint%3D${endpoint}`);

  it("a role that was deleted is shown where its past is, and its password of then opens nothing there", async () => {
    await rig.change("POST", roles, { role: { name: "leaky" } });
    const leaked = await rig.uri({ role: "leaky" });
    await rig.query(leaked, "SELECT 1");
    await sleep(50);
    const time = new Date().toISOString();
    await sleep(50);
    await rig.change("DELETE", `${roles}/leaky`);
    await expectRefused(leaked);
    const body = { branch: { parent_timestamp: time }, endpoints: [{ type: "read_write" }] };
    const { branch, endpoints } = CreatedBranch.parse((await rig.call("POST", branches, body)).body);
    await rig.settled();
    const endpoint = endpoints[0]?.id ?? "";
    expect(await rolesOf(branch.id)).toContain("leaky");
    await expectRefused(at(leaked, endpoint));
    expect(await rig.query(await rig.uri({ endpoint, role: "leaky" }), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await rig.change("POST", `${branches}/${branch.id}/restore`, { source_branch_id: main });
    expect(await rolesOf(branch.id)).not.toContain("leaky");
    await expectRefused(at(leaked, endpoint));
  });

  it("a role that is deleted and made again, or brought back by a reset, takes none of its earlier passwords", async () => {
    await rig.change("POST", roles, { role: { name: "again" } });
    const { body } = await rig.call("POST", branches, { branch: {}, endpoints: [{ type: "read_write" }] });
    const { branch, endpoints } = CreatedBranch.parse(body);
    await rig.settled();
    const endpoint = endpoints[0]?.id ?? "";
    const [leaked, leakedBelow] = [await rig.uri({ role: "again" }), await rig.uri({ role: "again", endpoint })];
    for (const login of [leaked, leakedBelow]) await rig.query(login, "SELECT 1");
    await rig.change("DELETE", `${roles}/again`);
    await rig.change("POST", roles, { role: { name: "again" } });
    await rig.change("DELETE", `${branches}/${branch.id}/roles/again`);
    await rig.change("POST", `${branches}/${branch.id}/restore`, { source_branch_id: main });
    await expectRefused(leaked);
    await expectRefused(leakedBelow);
    for (const place of [{}, { endpoint }]) {
      const login = await rig.uri({ role: "again", ...place });
      expect(await rig.query(login, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    }
  });
});
