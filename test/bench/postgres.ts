import { readdirSync, readFileSync } from "node:fs";
import { PostgresRig, primary, project, seed } from "../service/postgres/rig.ts";
import { programPath } from "../support/debian.ts";
import { commandLines } from "../support/process-list.ts";
import { runProgram } from "../support/run-program.ts";
import type { Bench, Figure } from "./figures.ts";

const computes = 50;
const awake = 5;
const crowd = 30;
const wakings = 20;
const rounds = 3;
const secondsPerRound = 20;
const clients = 8;
const manyClients = 50;

/** Real servers behind the computes: waking, memory, and how much the proxy costs. */
export const postgres: Bench = {
  name: "postgres",
  measures: `${computes} computes with real servers, ${awake} of them awake; pgbench with ${clients} clients`,
  async run(progress) {
    await using rig = await PostgresRig.start([], manyComputes());
    const uri = await rig.uri();
    await rig.query(uri, "SELECT 1");
    const figures = await wakingFigures(rig, uri);
    progress("woken and suspended");
    figures.push(...(await crowdFigures(rig)));
    progress(`${crowd} woken at once`);
    const asleep = megabytes(familyOf(rig.child.pid)) - megabytes([rig.child.pid]);
    await rig.query(uri, "SELECT 1");
    for (let n = 0; n < awake - 1; n += 1) await rig.query(await rig.uri({ endpoint: `ep-${n}` }), "SELECT 1");
    figures.push(...memoryFigures(rig, asleep));
    progress("memory measured");
    return [...figures, ...(await throughputFigures(rig, uri, progress))];
  },
};

function manyComputes(): object {
  const others = Array.from({ length: computes - 1 }, (_, n) => n);
  const size = { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 0.25 };
  return {
    ...seed,
    projects: seed.projects.map((one) => ({
      ...one,
      branches: [...one.branches, ...others.map((n) => ({ id: `br-${n}`, name: `branch-${n}`, default: false }))],
      endpoints: [
        ...one.endpoints,
        ...others.map((n) => ({ id: `ep-${n}`, branchID: `br-${n}`, type: "read_write", ...size })),
      ],
    })),
  };
}

async function wakingFigures(rig: PostgresRig, uri: string): Promise<Figure[]> {
  const waking: number[] = [];
  const suspending: number[] = [];
  for (let n = 0; n < wakings; n += 1) {
    const began = performance.now();
    await rig.change("POST", `/projects/${project}/endpoints/${primary}/suspend`);
    const stopped = performance.now();
    await rig.query(uri, "SELECT 1");
    suspending.push(stopped - began);
    waking.push(performance.now() - stopped);
  }
  return [
    { name: "waking an idle compute, from connect to the first row", unit: "ms", samples: waking, below: 500 },
    { name: "suspending one, from the call to the end of its operation", unit: "ms", samples: suspending },
  ];
}

/** Idle computes that clients come to at the same time, whose branches have their data and roles. */
async function crowdFigures(rig: PostgresRig): Promise<Figure[]> {
  const uris = await Promise.all(Array.from({ length: crowd }, (_, n) => rig.uri({ endpoint: `ep-${n}` })));
  const waking: number[] = [];
  const whole: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const began = performance.now();
    const each = uris.map((uri) => rig.query(uri, "SELECT 1").then(() => performance.now() - began));
    const took = await Promise.all(each);
    // The first start of a compute brings its roles and databases in.
    if (round > 0) {
      waking.push(...took);
      whole.push(Math.max(...took));
    }
    for (let n = 0; n < crowd; n += 1) await rig.change("POST", `/projects/${project}/endpoints/ep-${n}/suspend`);
  }
  await rig.change("POST", `/projects/${project}/endpoints/${primary}/suspend`);
  return [
    { name: `waking each of ${crowd} idle computes at once`, unit: "ms", samples: waking },
    { name: `the same, until the last has answered`, unit: "ms", samples: whole, below: 5000 },
  ];
}

/** Proportional set size, which counts shared memory once. `asleep`: of what ran beside the service without servers. */
function memoryFigures(rig: PostgresRig, asleep: number): Figure[] {
  const all = megabytes(familyOf(rig.child.pid));
  const service = megabytes([rig.child.pid]);
  return [
    { name: "memory of the service and its servers", unit: "MB", samples: [all], below: 600 },
    { name: "memory of the service", unit: "MB", samples: [service] },
    { name: "memory beside it for each active compute", unit: "MB", samples: [(all - service) / awake], below: 60 },
    { name: "memory beside it for each idle compute", unit: "MB", samples: [asleep / computes], below: 1 },
  ];
}

async function throughputFigures(rig: PostgresRig, uri: string, progress: (line: string) => void): Promise<Figure[]> {
  const pgbench = await programPath({
    purpose: "The figures of throughput need pgbench",
    variable: "PGBENCH",
    path: "/usr/bin/pgbench",
    package: "postgresql-contrib",
  });
  await run(pgbench, ["--initialize", "--quiet", "--scale=10", uri]);
  const targets = { direct: await directURI(rig, uri), plain: `${uri}&sslmode=disable`, tls: `${uri}&sslmode=require` };
  const samples = { direct: new Array<number>(), plain: new Array<number>(), tls: new Array<number>() };
  for (let round = 0; round < rounds; round += 1) {
    for (const way of ["direct", "plain", "tls"] as const) {
      const flags = ["--select-only", "--no-vacuum", `--client=${clients}`, `--time=${secondsPerRound}`];
      const said = await run(pgbench, [...flags, targets[way]]);
      samples[way].push(Number(/^tps = ([\d.]+)/m.exec(said)?.[1]));
      progress(`${way}: ${samples[way].at(-1)?.toFixed(0)} a second`);
    }
  }
  const transactions = { direct: 0, plain: 0 };
  for (const way of ["direct", "plain"] as const) {
    const said = await run(pgbench, ["--no-vacuum", `--client=${clients}`, "--time=60", targets[way]]);
    transactions[way] = Number(/^tps = ([\d.]+)/m.exec(said)?.[1]);
    progress(`${way}, transactions that write: ${transactions[way].toFixed(0)} a second`);
  }
  const many = { direct: new Array<number>(), tls: new Array<number>() };
  for (let round = 0; round < rounds; round += 1) {
    for (const way of ["direct", "tls"] as const) {
      const flags = ["--select-only", "--no-vacuum", `--client=${manyClients}`, "--jobs=2", "--time=10"];
      const said = await run(pgbench, [...flags, targets[way]]);
      many[way].push(Number(/^tps = ([\d.]+)/m.exec(said)?.[1]));
      progress(`${way}, ${manyClients} clients: ${many[way].at(-1)?.toFixed(0)} a second`);
    }
  }
  const crowded = many.direct.map((direct, round) => direct / (many.tls[round] ?? 0));
  const slower = [transactions.direct / transactions.plain];
  const times = (way: "plain" | "tls") => samples.direct.map((direct, round) => direct / (samples[way][round] ?? 0));
  return [
    { name: "pgbench -S through the server's socket", unit: "a second", samples: samples.direct },
    { name: "pgbench -S through the proxy", unit: "a second", samples: samples.plain },
    { name: "pgbench -S through the proxy with TLS", unit: "a second", samples: samples.tls },
    { name: "pgbench through the server's socket", unit: "a second", samples: [transactions.direct] },
    { name: "pgbench through the proxy", unit: "a second", samples: [transactions.plain] },
    { name: "how many times as fast the socket is as the proxy", unit: "times", samples: slower, below: 2 },
    { name: "the same with -S", unit: "times", samples: times("plain") },
    { name: "the same with -S and TLS", unit: "times", samples: times("tls") },
    { name: `the same with -S, TLS and ${manyClients} clients`, unit: "times", samples: crowded, below: 3 },
  ];
}

/** By the socket of the server. */
async function directURI(rig: PostgresRig, uri: string): Promise<string> {
  const { username, password, pathname } = new URL(uri);
  const [where] = await rig.query(
    uri,
    "SELECT current_setting('unix_socket_directories') AS host, current_setting('port') AS port",
  );
  return `postgresql://${username}:${password}@${pathname}?host=${encodeURIComponent(String(where?.["host"]))}&port=${String(where?.["port"])}`;
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runProgram(program, args);
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
  return stdout;
}

/** A process and all below it. */
function familyOf(root: number): number[] {
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
  const ours = new Set([root]);
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
  return kilobytes.reduce((total, one) => total + one, 0) / 1024;
}
