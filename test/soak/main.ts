import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import { flagsOf, wholeNumber } from "../support/flags.ts";
import { endEverything } from "../support/guardian.ts";
import { complaintsOf, type Sample } from "./figures.ts";
import { People } from "./people.ts";
import { type Requests, type Result, reportOf } from "./report.ts";
import { namespace, SoakStage } from "./soak-stage.ts";

const usage = `Usage: npm run soak -- [flags]

A churning fleet on a real control plane. The status is 1 where anything is not as it should be.

  --minutes N     how long it churns (default 60)
  --computes N    how many there are (default 40)
  --output FILE   the result as Markdown`;

const sampleEveryMs = 10_000;
const actEveryMs = 4000;
const renewEveryMs = 300_000;

const { minutes, computes, output } = flags();
const status = await soak().catch((error: unknown) => {
  console.error(error);
  return 1;
});
await endEverything();
process.exit(status);

async function soak(): Promise<number> {
  progress("setting the stage: control plane, service, the operator's image");
  await using stage = await SoakStage.start(computes);
  const { installation } = stage;
  const { service } = installation;
  const people = new People({ cluster: stage.cluster, service, namespace, projects: stage.projects, computes });
  await people.declare();
  progress(`waiting for ${computes} Computes to settle`);
  await stage.settled();
  const before = await stage.atRest();

  await stage.faults(true);
  const { samples, requests } = await churn(stage, people);

  progress("faults are over: waiting for all to settle");
  await stage.faults(false);
  const count = await settledWithHelp(stage, people);
  const after = await stage.atRest();
  const complaints = [...stage.problems, ...complaintsOf(samples, before.handles, after.handles)];
  if (after.writes > 0) complaints.push(`${after.writes} writes to the service while all was at rest`);
  const result: Result = {
    commit: execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim(),
    minutes,
    count,
    samples,
    before: before.handles,
    after: after.handles,
    done: people.done,
    refused: people.refused,
    requests,
    metrics: await stage.metrics(),
    complaints,
  };
  const report = reportOf(result);
  if (output !== undefined) writeFileSync(output, report);
  console.log(report);
  return complaints.length === 0 ? 0 : 1;
}

/**
 * Waits until all is well, while users watch: an operation that failed at the service is tried again only by somebody
 * who restarts the compute, as its condition says.
 */
async function settledWithHelp(stage: SoakStage, people: People) {
  const helped = new Set<string>();
  const settled = stage.settled();
  const over = settled.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([over, sleep(2000, false)]))) {
    for (const { name, reason } of await stage.askingForHelp()) {
      if (helped.has(name)) continue;
      helped.add(name);
      await people.help(name, reason);
    }
  }
  return settled;
}

/**
 * Lets users change things while the service fails now and then, and once or twice goes down, as the API server does.
 */
async function churn(stage: SoakStage, people: People): Promise<{ samples: Sample[]; requests: Requests }> {
  const { counter, operator, cluster } = stage.installation;
  const samples: Sample[] = [];
  const requests: Requests = { reads: 0, writes: 0 };
  const began = performance.now();
  const ends = began + minutes * 60_000;
  const passed = () => (performance.now() - began) / 60_000;
  const every = async (ms: number, job: () => Promise<void>) => {
    for (let next = began + ms; next <= ends; next = Math.max(next + ms, performance.now())) {
      await sleep(Math.max(0, next - performance.now()));
      await job();
    }
  };
  const at = async (share: number, what: string, job: () => Promise<void>) => {
    await sleep(share * minutes * 60_000);
    progress(what);
    await job();
  };
  // Like the kubelet, it asks again where the API server is away just then.
  const renewToken = async () => {
    await eventually("a new token", () => operator.renewToken().then(() => true), {
      timeoutMs: 120_000,
      everyMs: 2000,
    });
  };
  await Promise.all([
    every(actEveryMs, () => people.act()),
    every(sampleEveryMs, async () => {
      samples.push(await stage.sample(passed()));
    }),
    every(renewEveryMs, renewToken),
    every(60_000, async () => {
      requests.reads += counter.reads.length;
      requests.writes += counter.writes.length;
      counter.clear();
      await stage.lookForTwins();
      progress(`minute ${Math.round(passed())} of ${minutes}: ${lineOf(samples.at(-1), people, requests)}`);
    }),
    at(0.25, "the service crashes, for five seconds", () => stage.crashService()),
    at(0.5, "the API server is restarted", () => cluster.restartApiServer()),
    at(0.75, "the service crashes, for five seconds", () => stage.crashService()),
  ]);
  return { samples, requests };
}

function lineOf(sample: Sample | undefined, people: People, { reads, writes }: Requests): string {
  const changes = [...people.done.values()].reduce((sum, times) => sum + times, 0);
  const memory = `heap ${sample?.heapMB.toFixed(1)} MB, resident ${sample?.rssMB.toFixed(0)} MB`;
  return `${memory}; ${changes} changes by users, ${writes} writes and ${reads} reads at the service`;
}

function progress(line: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`);
}

function flags(): { minutes: number; computes: number; output: string | undefined } {
  const { values } = flagsOf(usage, {
    options: {
      minutes: { type: "string", default: "60" },
      computes: { type: "string", default: "40" },
      output: { type: "string" },
    },
  });
  const { minutes: length, computes: many, output: file } = values;
  return {
    minutes: wholeNumber(usage, "--minutes", length, 1),
    computes: wholeNumber(usage, "--computes", many, 1),
    output: file,
  };
}
