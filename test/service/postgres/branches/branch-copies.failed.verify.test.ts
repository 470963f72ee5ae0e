import { renameSync, rmSync, writeFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { CreatedBranch, main, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
beforeAll(async () => {
  await rig.query(await rig.uri(), "CREATE TABLE item (name text)", "INSERT INTO item VALUES ('bolt')");
});

const branches = `/projects/${project}/branches`;
/** Lets no copy be made until the returned function is called. */
function withoutRoomForCopies(): () => void {
  const making = `${rig.data}.postgres/making`;
  renameSync(making, `${making}-away`);
  writeFileSync(making, "");
  return () => {
    rmSync(making);
    renameSync(`${making}-away`, making);
  };
}

async function newBranch(types = ["read_write"]): Promise<{ branch: string; endpoint: string; replica: string }> {
  const endpoints = types.map((type) => ({ type }));
  const made = CreatedBranch.parse((await rig.call("POST", branches, { branch: { parent_id: main }, endpoints })).body);
  const [endpoint = "", replica = ""] = made.endpoints.map(({ id }) => id);
  return { branch: made.branch.id, endpoint, replica };
}

async function stateOf(branch: string): Promise<unknown> {
  const { body } = await rig.call("GET", `${branches}/${branch}`);
  return z.looseObject({ branch: z.looseObject({ current_state: z.string() }) }).parse(body).branch.current_state;
}

const items = "SELECT name FROM item";

it("answers clients of a branch whose copy failed with the reason, and copies when the next one connects", async () => {
  const makeRoom = withoutRoomForCopies();
  const { branch, endpoint } = await newBranch();
  const uri = await rig.uri({ endpoint });
  await expect(rig.query(uri, items)).rejects.toThrow(/compute ep-\S+ could not be started: ENOTDIR/);
  await rig.settled();
  expect(await rig.endpoint(endpoint)).toMatchObject({ current_state: "idle" });
  expect((await rig.endpoint(endpoint)).pending_state).toBeUndefined();
  expect(await stateOf(branch)).toBe("init");
  await expect(rig.query(uri, items)).rejects.toThrow(/could not be started: ENOTDIR/);
  makeRoom();
  expect(await rig.query(uri, items)).toEqual([{ name: "bolt" }]);
  expect(await stateOf(branch)).toBe("ready");
});

it("copies what failed when the service starts again, also where no compute needs it", async () => {
  const makeRoom = withoutRoomForCopies();
  const reply = await rig.call("POST", branches, { branch: { parent_id: main } });
  const { id } = z.looseObject({ branch: z.looseObject({ id: z.string() }) }).parse(reply.body).branch;
  await rig.settled();
  expect((await rig.operations())[0]).toMatchObject({ action: "create_branch", status: "failed" });
  makeRoom();
  await rig.stop();
  await rig.start();
  await expect.poll(() => stateOf(id), { timeout: 20_000 }).toBe("ready");
  const [started] = await rig.change("POST", `/projects/${project}/endpoints`, {
    endpoint: { branch_id: id, type: "read_write" },
  });
  expect(await rig.query(await rig.uri({ endpoint: started?.endpoint_id ?? "" }), items)).toEqual([{ name: "bolt" }]);
});

it("a restore that fails leaves a branch and its replica what they have, and one after it builds the replica again", async () => {
  const { branch, endpoint, replica } = await newBranch(["read_write", "read_only"]);
  await rig.settled();
  const onReplica = await rig.uri({ endpoint: replica });
  const newest = async () => (await rig.operations()).find(({ endpoint_id }) => endpoint_id === replica);
  await rig.query(await rig.uri({ endpoint }), "INSERT INTO item VALUES ('nut')");
  await expect.poll(() => rig.query(onReplica, items), { timeout: 20_000 }).toHaveLength(2);
  const makeRoom = withoutRoomForCopies();
  await rig.change("POST", `${branches}/${branch}/restore`, { source_branch_id: main });
  expect(await newest()).toMatchObject({ action: "apply_config", status: "failed" });
  expect(await rig.query(onReplica, items)).toHaveLength(2);
  makeRoom();
  await rig.change("POST", `/projects/${project}/endpoints/${endpoint}/restart`);
  expect(await rig.query(await rig.uri({ endpoint }), items)).toHaveLength(2);
  await rig.change("POST", `${branches}/${branch}/restore`, { source_branch_id: main });
  await expect.poll(newest, { timeout: 20_000 }).toMatchObject({ status: "finished" });
  expect(await rig.query(onReplica, items)).toEqual([{ name: "bolt" }]);
});
