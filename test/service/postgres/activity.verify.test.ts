import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, it } from "vitest";
import { sendCancel } from "./node-postgres.ts";
import { primary } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

const rig = usePostgresRig(["--test-controls"]);
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

const fiveMinutes = 300;

it("suspends a compute whose clients are silent, also those that listen, with Postgres's own error", async () => {
  const silent = await Promise.all([rig.client(uri), rig.client(uri), rig.client(await rig.uri({ pooled: true }))]);
  const ends = silent.map((client) => new Promise<unknown>((resolve) => client.on("error", resolve)));
  await silent[1]?.query("LISTEN news");
  await silent[2]?.query("SELECT 1");
  const before = Date.now();
  await rig.advance(fiveMinutes);
  await rig.until("idle");
  expect(await Promise.all(ends.slice(0, 2))).toEqual([
    expect.objectContaining({ code: "57P01" }),
    expect.objectContaining({ code: "57P01" }),
  ]);
  await ends[2];
  const { last_active } = await rig.endpoint(primary);
  expect(Date.parse(String(last_active))).toBeLessThan(before + 1000);
});

it("keeps a compute awake while a client runs a query or is in a transaction, and no longer", async () => {
  const client = await rig.client(uri);
  const ended = new Promise<unknown>((resolve) => client.on("error", resolve));
  await client.query("BEGIN");
  await rig.advance(fiveMinutes);
  expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  await client.query("COMMIT");
  const begun = new Promise((resolve) => client.on("notice", resolve));
  const query = client.query("DO $$ BEGIN RAISE NOTICE 'begun'; PERFORM pg_sleep(600); END $$").then(
    () => "it ran to its end",
    (error: unknown) => String(error),
  );
  await begun;
  await rig.advance(fiveMinutes);
  // Time for the service to suspend the compute all the same.
  await sleep(3000);
  await sendCancel(rig.address, client);
  expect(await query).toContain("canceling statement due to user request");
  expect((await rig.endpoint(primary)).current_state).toBe("active");
  await rig.advance(fiveMinutes);
  expect(await ended).toMatchObject({ code: "57P01" });
  await rig.until("idle");
});
