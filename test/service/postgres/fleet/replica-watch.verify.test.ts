import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { segmentsOf } from "../../../../src/service/postgres/data/backup.ts";
import { main, primary, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();

it("a replica that has lost the log of its primary follows it again", { timeout: 400_000 }, async () => {
  await rig.change("PATCH", `/projects/${project}/endpoints/${primary}`, {
    endpoint: { settings: { pg_settings: { max_wal_size: "32MB" } } },
  });
  const endpoint = { branch_id: main, type: "read_only" };
  const [created] = await rig.change("POST", `/projects/${project}/endpoints`, { endpoint });
  const replica = z.string().parse(created?.endpoint_id);
  const [own, there] = [await rig.uri(), await rig.uri({ endpoint: replica })];
  await rig.query(own, "CREATE TABLE numbers (number int, filler text)");
  await expect.poll(() => rig.query(there, "SELECT FROM pg_class WHERE relname = 'numbers'")).toHaveLength(1);
  const root = `${rig.data}.postgres`;
  const [branch = ""] = readdirSync(join(root, "branches"));
  const { newest } = await segmentsOf(join(root, "replicas", replica));
  const [receiver] = await rig.query(there, "SELECT pid FROM pg_stat_wal_receiver");
  const pid = z.number().parse(receiver?.["pid"]);
  process.kill(pid, "SIGSTOP");
  let rows = 0;
  while ((await segmentsOf(join(root, "branches", branch))).oldest <= newest) {
    await rig.query(own, "INSERT INTO numbers SELECT n, repeat('x', 20) FROM generate_series(1, 200000) n");
    rows += 200_000;
  }
  process.kill(pid, "SIGCONT");
  const count = () => rig.query(there, "SELECT count(*)::int FROM numbers").catch(() => []);
  await expect.poll(count, { timeout: 300_000, interval: 1000 }).toEqual([{ count: rows }]);
});
