import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { z } from "zod";
import { ServiceProcess } from "../../support/processes.ts";
import { crash } from "./crashes.ts";

it("50 times killed while it is being written to, the service has lost nothing that it answered", async () => {
  const { answered, problems } = await crash(50);
  expect(problems).toEqual([]);
  // How much it gets done between two kills depends on the machine; that it does something shows that it came back.
  expect(answered).toBeGreaterThan(50);
}, 600_000);

const Made = z.object({ project: z.object({ id: z.string() }), endpoints: z.tuple([z.object({ id: z.string() })]) });

const quarterMs = 900_000;

/** Lets a compute of a data file have so many more beside it, each with a day of usage, which is kept for a day. */
function fill(file: string, like: string, computes: number): void {
  const sqlite = new DatabaseSync(file);
  const columns = sqlite.prepare("SELECT name FROM pragma_table_info('endpoints')").all();
  const own: Readonly<Record<string, string>> = { id: "?2 || '-' || n", seq: "100 + n", type: "'read_only'" };
  const values = columns.map(({ name }) => own[String(name)] ?? String(name)).join(", ");
  const numbers = "WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ?1)";
  sqlite
    .prepare(`${numbers} INSERT INTO endpoints SELECT ${values} FROM n, endpoints WHERE id = ?2`)
    .run(computes, like);
  const quarters = "INSERT INTO endpoint_quarters SELECT ?2 || '-' || (n / 96), ?3 - n % 96, 1, 1, 1, 1 FROM n";
  sqlite.prepare(`${numbers} ${quarters}`).run(96 * computes, like, Math.floor(Date.now() / quarterMs));
  sqlite.close();
}

/** The rows of a data file that are still to be cleared, and those that have lost what they belong to. */
function leftIn(file: string): { left: number; lost: unknown[] } {
  const sqlite = new DatabaseSync(file);
  const tables = ["projects WHERE removed = 1", "endpoint_quarters", "removed_endpoints"];
  const counts = tables.map((name) => Number(sqlite.prepare(`SELECT count(*) AS n FROM ${name}`).get()?.["n"]));
  const ids = "SELECT id FROM endpoints UNION ALL SELECT id FROM removed_endpoints";
  const usage = `SELECT endpoint_id FROM endpoint_quarters WHERE endpoint_id NOT IN (${ids}) LIMIT 3`;
  const lost = [...sqlite.prepare("PRAGMA foreign_key_check").all(), ...sqlite.prepare(usage).all()];
  sqlite.close();
  return { left: counts.reduce((sum, count) => sum + count, 0), lost };
}

/** Deletes a project with so many computes, kills the service while it clears, and answers what each kill found. */
async function killWhileClearing(service: ServiceProcess, computes: number): Promise<number[]> {
  const key = service.firstKey;
  const { project, endpoints } = Made.parse(await service.call("POST", "/projects", { project: {} }, key));
  await service.kill();
  fill(service.dataFile, endpoints[0].id, computes);
  await service.start();
  const path = `/projects/${project.id}`;
  await expect
    .poll(async () => (await service.send("DELETE", path, undefined, key)).status, { timeout: 60_000 })
    .toBe(200);
  const left: number[] = [];
  for (let lifetime = 10; left.at(-1) !== 0 && left.length < 50; lifetime += 10) {
    await service.kill();
    const found = leftIn(service.dataFile);
    expect(found.lost).toEqual([]);
    left.push(found.left);
    await service.start();
    for (const of of [path, `${path}/endpoints`, `${path}/branches`]) {
      expect([of, (await service.send("GET", of, undefined, key)).status]).toEqual([of, 404]);
    }
    await sleep(lifetime);
  }
  return left;
}

it("a deletion that one kill after the other interrupts shows nothing meanwhile, and leaves no row in the end", async () => {
  await using service = await ServiceProcess.start({ timeScale: 1000 });
  let kills: number[] = [];
  // Kills of a busy machine may come when all is cleared: then there shall be more to clear.
  for (let computes = 1000; new Set(kills).size < 3 && computes <= 64_000; computes *= 4) {
    kills = await killWhileClearing(service, computes);
    expect(kills.at(-1)).toBe(0);
  }
  expect(new Set(kills).size).toBeGreaterThan(2);
}, 600_000);
