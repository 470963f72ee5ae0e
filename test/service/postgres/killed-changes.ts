import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "../../simulation/random.ts";
import { Changer } from "./changer.ts";
import { servers } from "./kills.ts";
import { main, PostgresRig, project } from "./rig.ts";

/** What came of killing the service again and again amid changes by its API. */
export interface ChangesReport {
  kills: number;
  /** Changes that had been answered, by kind. */
  answered: Record<string, number>;
  problems: string[];
}

const seed = {
  accounts: [{ id: "acc-ana", email: "ana@example.com", plan: "scale", apiKeys: [{ name: "laptop", key: "ana-key" }] }],
  organizations: [{ id: "org-shop", plan: "scale", members: [{ account: "acc-ana", role: "admin" }] }],
  projects: [
    {
      id: project,
      owner: "acc-ana",
      branches: [
        { id: main, name: "main", default: true, roles: ["app"], databases: [{ name: "stock", owner: "app" }] },
      ],
      endpoints: [],
    },
  ],
};

/** Kills the service with SIGKILL `count` times amid changes by its API, and looks each time at what it has kept. */
export async function killAmidChanges(count: number): Promise<ChangesReport> {
  await using rig = await PostgresRig.start(["--no-project-lock"], seed);
  const random = seededRandom(count);
  const changer = new Changer(rig, random);
  const problems: string[] = [];
  for (let kills = 1; kills <= count; kills += 1) {
    const changing = [1, 2, 3].map(() => changer.untilItEnds());
    const enough = changer.sum + 6 + Math.floor(8 * random());
    const deadline = performance.now() + 30_000;
    while (changer.sum < enough && performance.now() < deadline) await sleep(1);
    await sleep(300 * random());
    await rig.kill();
    await Promise.all(changing);
    await rig.start();
    const ended = await Promise.race([rig.settled().then(() => true), sleep(120_000, false)]);
    if (!ended) problems.push(`after kill ${kills}: operations do not end`);
    for (const { status, action, error } of await rig.operations()) {
      if (status === "failed") problems.push(`after kill ${kills}: ${action} failed: ${error ?? ""}`);
    }
    problems.push(...(await changer.problems()).map((problem) => `after kill ${kills}: ${problem}`));
  }
  await rig.stop();
  if (servers(rig.data).length > 0) problems.push("servers are left after the end");
  return { kills: count, answered: changer.answered, problems };
}
