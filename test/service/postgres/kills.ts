import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { commandLines } from "../../support/process-list.ts";
import type { PgClient } from "./node-postgres.ts";
import { PostgresRig } from "./rig.ts";

/** What came of killing the service again and again under clients that write. */
export interface KillReport {
  kills: number;
  committed: number;
  problems: string[];
}

const writers = 4;

/**
 * Kills the service with SIGKILL `count` times while clients write, and looks each time at what the servers have kept:
 * every row whose commit was answered, and no server beside those of the new service.
 */
export async function killUnderWriters(
  count: number,
  progress: (done: number, committed: number) => void = () => {},
): Promise<KillReport> {
  await using rig = await PostgresRig.start();
  await rig.query(await rig.uri(), "CREATE TABLE row (writer int, n int, PRIMARY KEY (writer, n))");
  const committed = Array.from({ length: writers }, () => 0);
  const problems: string[] = [];
  for (let kills = 1; kills <= count; kills += 1) {
    const uri = await rig.uri();
    const writing = committed.map((_, writer) => writeUntilItEnds(rig, uri, writer, committed));
    const enough = sum(committed) + 20 + 10 * (kills % 7);
    while (sum(committed) < enough) await sleep(1);
    await rig.kill();
    await Promise.all(writing);
    await rig.start();
    const kept = await rig.query(
      await rig.uri(),
      "SELECT writer, max(n) AS last, count(*)::int AS rows FROM row GROUP BY writer",
    );
    for (const [writer, last] of committed.entries()) {
      const own = kept.find((one) => one["writer"] === writer);
      // One more may have been committed whose answer did not arrive.
      if (Number(own?.["rows"] ?? 0) < last) problems.push(`after kill ${kills}: writer ${writer} lost rows`);
      committed[writer] = Number(own?.["last"] ?? 0);
    }
    const running = await settledServers(rig.data);
    if (running > 1) problems.push(`after kill ${kills}: ${running} servers`);
    progress(kills, sum(committed));
  }
  await rig.stop();
  if (servers(rig.data).length > 0) problems.push("servers are left after the end");
  problems.push(...damage(`${rig.data}.postgres/logs`));
  return { kills: count, committed: sum(committed), problems };
}

async function writeUntilItEnds(rig: PostgresRig, uri: string, writer: number, committed: number[]): Promise<void> {
  let client: PgClient | undefined;
  try {
    client = await rig.client(uri);
    for (let n = (committed[writer] ?? 0) + 1; ; n += 1) {
      await client.query(`INSERT INTO row VALUES (${writer}, ${n})`);
      committed[writer] = n;
    }
  } catch {
    await client?.end().catch(() => {});
  }
}

/** The servers on this data, without their guardians and their own processes. */
export function servers(data: string): string[] {
  return commandLines().filter((line) => line.includes(`${data}.postgres/branches`) && /^\S*postgres -D /.test(line));
}

/** How many there are: a process that a server has just forked bears its command line for a moment. */
async function settledServers(data: string): Promise<number> {
  for (let tries = 0; tries < 50 && servers(data).length > 1; tries += 1) await sleep(100);
  return servers(data).length;
}

/** What the servers say of damaged data. */
function damage(logs: string): string[] {
  return readdirSync(logs).flatMap((name) =>
    readFileSync(join(logs, name), "utf8")
      .split("\n")
      .filter((line) => /PANIC|invalid page|checksum|corrupt|could not read block/i.test(line)),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
