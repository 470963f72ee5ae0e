import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { seededRandom } from "../../simulation/random.ts";
import { ServiceProcess } from "../../support/processes.ts";
import { Writer } from "./writer.ts";

const writers = ["one", "two", "three", "four"];

const seed = stringify({
  accounts: writers.map((name) => ({
    id: `acc-${name}`,
    email: `${name}@example.com`,
    plan: "scale",
    apiKeys: [{ name: "first", key: `key-of-${name}` }],
  })),
  projects: writers.map((name) => ({
    id: `project-${name}`,
    owner: `acc-${name}`,
    branches: [{ id: `br-${name}`, name: "main" }],
    endpoints: [],
  })),
});

/** What came of killing the service again and again. */
export interface CrashReport {
  crashes: number;
  /** Writes that had been answered. */
  answered: number;
  problems: string[];
}

/**
 * Kills the service with SIGKILL `count` times while it is being written to, and looks each time at what it has kept.
 */
export async function crash(
  count: number,
  progress: (done: number, answered: number, problems: readonly string[]) => void = () => {},
): Promise<CrashReport> {
  const random = seededRandom(count);
  await using service = await ServiceProcess.start({ seed, timeScale: 1000 });
  const all = writers.map(
    (name) => new Writer({ project: `project-${name}`, branch: `br-${name}`, key: `key-of-${name}`, random }),
  );
  const problems: string[] = [];
  const answered = () => all.reduce((sum, writer) => sum + writer.answered, 0);
  for (let crashes = 1; crashes <= count; crashes++) {
    const writing = all.map((writer) => writer.writeUntilItEnds(service.baseURL));
    const enough = answered() + 5 + 40 * random();
    const deadline = performance.now() + 10_000;
    while (answered() < enough && performance.now() < deadline) await sleep(1);
    await service.kill();
    await Promise.all(writing);
    await service.start();
    for (const writer of all) {
      const found = await writer.problems(service.baseURL);
      problems.push(...found.map((problem) => `after crash ${crashes}: ${problem}`));
    }
    progress(crashes, answered(), problems);
  }
  return { crashes: count, answered: answered(), problems };
}
