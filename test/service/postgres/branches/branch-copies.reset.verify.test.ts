import { existsSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { CreatedBranch, main, project, seed } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

/** As every seed leaves it: the compute of the default branch never runs in these tests. */
const rig = usePostgresRig(["--test-controls"], seed);

const branches = `/projects/${project}/branches`;
const Named = z.array(z.looseObject({ name: z.string() }));

async function databasesOf(branch: string): Promise<string[]> {
  const { body } = await rig.call("GET", `${branches}/${branch}/databases`);
  return Named.parse(body["databases"]).map(({ name }) => name);
}

async function rolesOf(branch: string): Promise<string[]> {
  const { body } = await rig.call("GET", `${branches}/${branch}/roles`);
  return Named.parse(body["roles"]).map(({ name }) => name);
}

/** Creates a branch; answers its id and its computes' when all are there. */
async function made(fields: object = {}, types: readonly string[] = ["read_write"]) {
  const body = { branch: fields, endpoints: types.map((type) => ({ type })) };
  const reply = await rig.call("POST", branches, body);
  expect([reply.status, reply.body["message"]]).toEqual([201, undefined]);
  const { branch, endpoints } = CreatedBranch.parse(reply.body);
  await rig.settled();
  const [endpoint = "", replica = ""] = endpoints.map(({ id }) => id);
  return { branch: branch.id, endpoint, replica };
}

async function reset(branch: string, fields: object = {}): Promise<void> {
  const operations = await rig.change("POST", `${branches}/${branch}/restore`, { source_branch_id: main, ...fields });
  expect(operations.map(({ status }) => status)).not.toContain("failed");
}

/** A branch shows what its parent shows, and its server has that: the connection string of before still serves. */
async function expectParents(branch: string, uri: string): Promise<void> {
  expect(await databasesOf(branch)).toEqual(["neondb", "stock"]);
  expect(await rolesOf(branch)).toEqual(["neondb_owner", "app"]);
  expect(await rig.query(uri, "SELECT current_database() AS name")).toEqual([{ name: "stock" }]);
  expect(await databasesOf(branch)).toEqual(["neondb", "stock"]);
}

describe("a branch whose parent has never run", () => {
  it("a branch whose parent has never run is reset three times while it runs, and has its roles and databases each time", async () => {
    const { branch, endpoint } = await made();
    const uri = await rig.uri({ endpoint });
    for (let round = 0; round < 3; round += 1) {
      await rig.query(uri, "CREATE TABLE round (n int)");
      const resetting = new AbortController();
      // Each call that shows databases asks the server, the old one until it has ended.
      const asking = (async () => {
        while (!resetting.signal.aborted) await databasesOf(branch).then(() => sleep(5));
      })();
      await reset(branch);
      resetting.abort();
      await asking;
      await expectParents(branch, uri);
      expect(await rig.query(uri, "SELECT to_regclass('round') AS found")).toEqual([{ found: null }]);
    }
    expect(rig.child.lines.filter((line) => /ENOTEMPTY|rmdir/.test(line))).toEqual([]);
  });

  it("a branch whose parent has never run is reset while it is idle", async () => {
    const { branch, endpoint } = await made();
    const uri = await rig.uri({ endpoint });
    await rig.change("POST", `/projects/${project}/endpoints/${endpoint}/suspend`);
    await reset(branch);
    await expectParents(branch, uri);
  });

  it("a branch that has never run itself is reset to such a parent", async () => {
    const { branch } = await made({}, []);
    await reset(branch);
    const [started] = await rig.change("POST", `/projects/${project}/endpoints`, {
      endpoint: { branch_id: branch, type: "read_write" },
    });
    await expectParents(branch, await rig.uri({ endpoint: started?.endpoint_id ?? "" }));
  });

  it("a branch of a branch that has never run is reset to that", async () => {
    const middle = await made({}, []);
    const { branch, endpoint } = await made({ parent_id: middle.branch });
    const uri = await rig.uri({ endpoint });
    await rig.query(uri, "SELECT 1");
    await reset(branch, { source_branch_id: middle.branch });
    await expectParents(branch, uri);
  });

  it("a running branch with a read replica is reset to such a parent, and the replica follows", async () => {
    const { branch, endpoint, replica } = await made({}, ["read_write", "read_only"]);
    const [uri, readOnly] = [await rig.uri({ endpoint }), await rig.uri({ endpoint: replica })];
    await rig.query(uri, "CREATE TABLE round (n int)");
    await reset(branch);
    await expectParents(branch, uri);
    await rig.query(uri, "CREATE TABLE after_reset (n int)");
    await expect
      .poll(() => rig.query(readOnly, "SELECT to_regclass('after_reset') AS found"))
      .toEqual([{ found: "after_reset" }]);
    expect(await rig.query(readOnly, "SELECT to_regclass('round') AS found")).toEqual([{ found: null }]);
  });

  it("a running branch that is reset to such a parent under a new name for what it had keeps both", async () => {
    const { branch, endpoint } = await made();
    const uri = await rig.uri({ endpoint });
    await rig.query(uri, "CREATE TABLE round (n int)", "CREATE DATABASE mine");
    await reset(branch, { preserve_under_name: "kept" });
    await expectParents(branch, uri);
    const found = await rig.call("GET", `${branches}?search=kept`);
    const [kept] = z.array(z.looseObject({ id: z.string() })).parse(found.body["branches"]);
    const [started] = await rig.change("POST", `/projects/${project}/endpoints`, {
      endpoint: { branch_id: kept?.id, type: "read_write" },
    });
    const keptURI = await rig.uri({ endpoint: started?.endpoint_id ?? "" });
    expect(await rig.query(keptURI, "SELECT to_regclass('round') AS found")).toEqual([{ found: "round" }]);
    expect(await databasesOf(kept?.id ?? "")).toEqual(["neondb", "stock", "mine"]);
  });

  it("a branch begins at a time of a parent that has never run, and is restored to one, with its roles and databases", async () => {
    // The parent has data, and so a history, when another branch has a copy of it.
    await made();
    const time = new Date().toISOString();
    await sleep(50);
    const { branch, endpoint } = await made({ parent_timestamp: time });
    const uri = await rig.uri({ endpoint });
    await expectParents(branch, uri);
    await rig.query(uri, "CREATE TABLE round (n int)");
    await reset(branch, { source_timestamp: time });
    await expectParents(branch, uri);
  });

  it("a branch with the schema alone of a parent that has never run has its roles and databases", async () => {
    const { branch, endpoint } = await made({ init_source: "schema-only" });
    await expectParents(branch, await rig.uri({ endpoint }));
  });

  it("a database that clients have made or dropped right before a reset is neither made nor dropped in what comes after", async () => {
    const { branch, endpoint } = await made();
    const uri = await rig.uri({ endpoint });
    const owner = await rig.uri({ endpoint, role: "neondb_owner" });
    await rig.query(owner, "CREATE DATABASE mine", "DROP DATABASE neondb");
    await reset(branch);
    await expectParents(branch, uri);
    expect((await rig.query(uri, "SELECT datname AS name FROM pg_database WHERE datname = 'mine'")).length).toBe(0);
  });
});

it("the data that a reset replaces is removed when its server has ended, and not while that still writes", async () => {
  const { branch, endpoint } = await made();
  const [checkpointer] = await rig.query(
    await rig.uri({ endpoint }),
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'",
  );
  const directories = () =>
    readdirSync(`${rig.data}.postgres/branches`)
      .filter((name) => name.startsWith(branch))
      .map((name) => `${rig.data}.postgres/branches/${name}`);
  const [before = ""] = directories();
  const pid = z.number().parse(checkpointer?.["pid"]);
  process.kill(pid, "SIGSTOP");
  const resetting = reset(branch);
  try {
    await expect.poll(directories).toHaveLength(2);
    for (let change = 0; change < 20; change += 1) {
      await rig.call("POST", "/api_keys", { key_name: `k${change}` });
      await sleep(50);
    }
    expect(existsSync(`${before}/global/pg_control`)).toBe(true);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await resetting;
  await expect.poll(directories).toHaveLength(1);
  expect(directories()).not.toContain(before);
});
