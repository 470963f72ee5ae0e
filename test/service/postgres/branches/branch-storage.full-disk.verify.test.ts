import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { asRoot, main, PostgresRig, project, seed } from "../rig.ts";

/** A second compute, which sleeps. */
const two = {
  ...seed,
  projects: seed.projects.map((one) => ({
    ...one,
    branches: [
      ...one.branches,
      { id: "br-other", name: "other", roles: ["app"], databases: [{ name: "stock", owner: "app" }] },
    ],
    endpoints: [...one.endpoints, { id: "ep-other", branchID: "br-other", type: "read_write" }],
  })),
};

/** Only root can give the service a disk of its own to fill. */
describe("a disk that is full", () => {
  const rig = new PostgresRig([], two);
  const disk = rig.directory.path;
  const filler = join(disk, "filler");
  let uri: string;
  let sleeping: string;
  const canMount = asRoot.length > 0;
  beforeAll(async () => {
    if (!canMount) return;
    const document = readFileSync(join(disk, "seed.yaml"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=400m,mode=755", "tmpfs", disk]);
    writeFileSync(join(disk, "seed.yaml"), document);
    await rig.start();
    uri = await rig.uri();
    sleeping = await rig.uri({ endpoint: "ep-other" });
    await rig.query(sleeping, "CREATE TABLE item (name text)");
    await rig.change("POST", `/projects/${project}/endpoints/ep-other/suspend`);
    await rig.query(uri, "CREATE TABLE item (name text)", "INSERT INTO item VALUES ('bolt')");
    fill();
  });
  afterAll(async () => {
    if (!canMount) return rig[Symbol.asyncDispose]();
    rmSync(filler, { force: true });
    await rig.stop();
    execFileSync("umount", ["-l", disk]);
    await rig[Symbol.asyncDispose]();
  });

  /** Leaves not a byte. */
  function fill(): void {
    for (let size = 64 * 1024 ** 2; size >= 1; size = Math.floor(size / 2)) while (fits(size));
  }

  function fits(size: number): boolean {
    try {
      writeFileSync(filler, Buffer.alloc(size), { flag: "a" });
      return true;
    } catch {
      return false;
    }
  }

  const rename = () =>
    rig.call("PATCH", `/projects/${project}/branches/br-other`, { branch: { name: `n-${Date.now()}` } });

  const branches = `/projects/${project}/branches`;

  it("still takes the change that makes room, and thousands of others, in the room that its store has kept", async () => {
    if (!canMount) return;
    for (let tries = 0; tries < 3; tries += 1) expect(await rename()).toMatchObject({ status: 200 });
    const [copied] = await rig.change("POST", branches, { branch: { name: "unwanted" } });
    const reason = expect.stringMatching(/the disk (lacks room|became full)/);
    expect(copied).toMatchObject({ status: "failed", error: reason });
    expect(await rig.call("DELETE", `${branches}/${copied?.branch_id}`)).toMatchObject({ status: 200 });
  });

  it("refuses changes with 507 then, answers reads, and leaves active computes to their clients", async () => {
    if (!canMount) return;
    const addKey = () => rig.call("POST", "/api_keys", { key_name: "k".repeat(64) });
    while ((await Promise.all(Array.from({ length: 40 }, addKey))).some(({ status }) => status === 200));
    const silent = await rig.client(uri);
    for (let tries = 0; tries < 3; tries += 1) {
      expect(await addKey()).toMatchObject({ status: 507 });
      expect((await rig.call("GET", `/projects/${project}/branches/${main}`)).status).toBe(200);
      expect(await rig.query(uri, "SELECT name FROM item")).toEqual([{ name: "bolt" }]);
      // After this a connection is noted again.
      await sleep(1100);
    }
    expect((await silent.query("SELECT name FROM item")).rows).toEqual([{ name: "bolt" }]);
    await silent.end();
    await expect(rig.query(sleeping, "SELECT 1")).rejects.toMatchObject({ code: "53100" });
    expect(rig.child.tail().match(/The disk of the service is full/g)).toHaveLength(1);
    expect(rig.child.tail()).not.toContain("internal error");
  });

  it("goes on where it stopped when there is room again, and says how much a copy lacks, also of the past", async () => {
    if (!canMount) return;
    rmSync(filler);
    const then = new Date().toISOString();
    expect((await rename()).status).toBe(200);
    expect(await rig.query(sleeping, "SELECT count(*)::int AS n FROM item")).toEqual([{ n: 0 }]);
    fill();
    truncateSync(filler, statSync(filler).size - 70 * 1024 ** 2);
    for (const past of [{}, { parent_timestamp: then }]) {
      const branch = { parent_id: main, ...past };
      const [copied] = await rig.change("POST", `/projects/${project}/branches`, { branch });
      expect(copied).toMatchObject({
        status: "failed",
        error: expect.stringMatching(/the disk lacks room for a copy of \d+ MiB/),
      });
    }
  });

  it("a restore that found no room leaves its branch as it was, also once there is room again", async () => {
    if (!canMount) return;
    const restore = `/projects/${project}/branches/br-other/restore`;
    const [failed] = await rig.change("POST", restore, { source_branch_id: main });
    expect(failed).toMatchObject({ status: "failed", error: expect.stringContaining("the disk lacks room") });
    await rig.query(sleeping, "INSERT INTO item VALUES ('nut')");
    rmSync(filler);
    await rig.stop();
    await rig.start();
    sleeping = await rig.uri({ endpoint: "ep-other" });
    expect(await rig.query(sleeping, "SELECT name FROM item")).toEqual([{ name: "nut" }]);
  });
});
