// How fast computes wake, and what many of them need: node test/service/postgres/figures.ts
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { commandLines } from "../../support/process-list.ts";
import { PostgresRig, primary, project, seed } from "./rig.ts";

const computes = 50;
const awake = 5;
const runs = 20;

const many = {
  ...seed,
  projects: seed.projects.map((one) => ({
    ...one,
    branches: [
      ...one.branches,
      ...Array.from({ length: computes - 1 }, (_, n) => ({ id: `br-${n}`, name: `branch-${n}`, default: false })),
    ],
    endpoints: [
      ...one.endpoints,
      ...Array.from({ length: computes - 1 }, (_, n) => ({
        id: `ep-${n}`,
        branchID: `br-${n}`,
        type: "read_write",
        autoscaling_limit_min_cu: 0.25,
        autoscaling_limit_max_cu: 0.25,
      })),
    ],
  })),
};

await using rig = await PostgresRig.start([], many);
const uri = await rig.uri();
await rig.query(uri, "SELECT 1");

const waking: number[] = [];
const stopping: number[] = [];
for (let run = 0; run < runs; run += 1) {
  const began = performance.now();
  await rig.change("POST", `/projects/${project}/endpoints/${primary}/suspend`);
  const stopped = performance.now();
  await rig.query(uri, "SELECT 1");
  stopping.push(stopped - began);
  waking.push(performance.now() - stopped);
}
console.log(`waking, from connect to first row: ${inWords(waking)}`);
console.log(`suspending, from the call to the end of its operation: ${inWords(stopping)}`);

for (let n = 0; n < awake - 1; n += 1) await rig.query(await rig.uri({ endpoint: `ep-${n}` }), "SELECT 1");
const family = processes();
console.log(
  `${computes} computes, ${awake} awake: ${megabytes(family)} MB in ${family.length} processes (proportional set size), ` +
    `of which the service ${megabytes([rig.child.pid])} MB; ${diskMegabytes()} MB on disk`,
);

function inWords(times: number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  return `median ${at(0.5)} ms, slowest ${at(1)} ms of ${times.length}`;
}

/** The service, its servers and their own processes. */
function processes(): number[] {
  if (commandLines().length === 0) return [];
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // It has ended meanwhile.
    }
  }
  const ours = new Set([rig.child.pid]);
  for (let before = 0; before < ours.size; ) {
    before = ours.size;
    for (const [pid, parent] of parents) if (ours.has(parent)) ours.add(pid);
  }
  return [...ours];
}

function megabytes(pids: readonly number[]): number {
  const kilobytes = pids.map((pid) => {
    try {
      return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0);
    } catch {
      return 0;
    }
  });
  return Math.round(kilobytes.reduce((total, one) => total + one, 0) / 1024);
}

function diskMegabytes(): string {
  return execFileSync("du", ["-sm", `${rig.data}.postgres`], { encoding: "utf8" }).split("\t")[0] ?? "";
}
