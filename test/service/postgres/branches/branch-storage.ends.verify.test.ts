import { readdirSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { CreatedBranch, main, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig(["--branch-recovery", "--test-controls"]);
beforeAll(async () => {
  await rig.query(await rig.uri(), "CREATE TABLE item (name text)", "INSERT INTO item VALUES ('bolt')");
});

const branches = `/projects/${project}/branches`;
/** Makes a branch of main with a primary; answers their ids when both are there. */
async function made(fields: object = {}): Promise<{ branch: string; endpoint: string }> {
  const { body } = await rig.call("POST", branches, { branch: fields, endpoints: [{ type: "read_write" }] });
  const { branch, endpoints } = CreatedBranch.parse(body);
  await rig.settled();
  return { branch: branch.id, endpoint: endpoints[0]?.id ?? "" };
}

const rowsOf = (uri: string) => rig.query(uri, "SELECT name FROM item ORDER BY name");
const directories = (branch: string) =>
  readdirSync(`${rig.data}.postgres/branches`).filter((name) => name.startsWith(branch));

it("a child of a protected branch is reset under the same address, with another password", async () => {
  const { branch, endpoint } = await made();
  const before = new URL(await rig.uri({ endpoint }));
  await rig.query(before.href, "INSERT INTO item VALUES ('nut')");
  await rig.change("PATCH", `${branches}/${main}`, { branch: { protected: true } });
  await rig.change("POST", `${branches}/${branch}/restore`, { source_branch_id: main });
  await rig.change("PATCH", `${branches}/${main}`, { branch: { protected: false } });
  const after = new URL(await rig.uri({ endpoint }));
  expect([after.host, after.search, after.username]).toEqual([before.host, before.search, before.username]);
  expect(after.password).not.toBe(before.password);
  await expect(rowsOf(before.href)).rejects.toThrow(/password authentication failed/);
  expect(await rowsOf(after.href)).toEqual([{ name: "bolt" }]);
});

it("a deleted branch comes back with its data under the same connection string", async () => {
  const { branch, endpoint } = await made();
  const uri = await rig.uri({ endpoint });
  await rig.query(uri, "INSERT INTO item VALUES ('nut')");
  await rig.change("DELETE", `${branches}/${branch}`);
  await expect(rowsOf(uri)).rejects.toThrow(/there is no compute/);
  expect((await rig.call("POST", `${branches}/${branch}/recover`)).status).toBe(200);
  expect(await rowsOf(uri)).toEqual([{ name: "bolt" }, { name: "nut" }]);
});

it("a branch that has ended keeps its data for a week, and then loses it", async () => {
  const expires_at = `${new Date(Date.now() + 3_600_000).toISOString().slice(0, 19)}Z`;
  const { branch, endpoint } = await made({ expires_at });
  const uri = await rig.uri({ endpoint });
  expect(await rowsOf(uri)).toEqual([{ name: "bolt" }]);
  await rig.advance(3600);
  expect((await rig.call("GET", `${branches}/${branch}`)).body["branch"]).toMatchObject({
    recovery: { deletion_method: "ttl" },
  });
  await expect(rowsOf(uri)).rejects.toThrow(/there is no compute/);
  expect(directories(branch)).toHaveLength(1);
  await rig.advance(7 * 86_400);
  await expect.poll(() => directories(branch)).toEqual([]);
});
