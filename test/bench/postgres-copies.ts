import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { main, PostgresRig, project, seed } from "../service/postgres/rig.ts";
import { runProgram } from "../support/run-program.ts";
import type { Bench, Figure } from "./figures.ts";

const copiesAtOnce = 10;
const rounds = 3;
/** Wakes that are measured where nothing is copied. */
const quietWakes = 20;
/** Interval at which each of many clients asks whether its copy is there, in milliseconds: asking takes CPU too. */
const pollMs = 200;
const stranger = "ep-stranger";
const branches = `/projects/${project}/branches`;

/** Copies of branches beside cp, many at once, and what they cost a compute that has nothing to do with them. */
export const postgresCopies: Bench = {
  name: "postgres-copies",
  measures: `copies of branches with 64 and 1,024 MB, up to ${copiesAtOnce} at once; needs 15 GB of disk`,
  async run(progress) {
    const figures: Figure[] = [];
    for (const megabytes of [64, 1024]) {
      await using rig = await PostgresRig.start(["--no-project-lock"], withStranger());
      await grow(rig, megabytes);
      progress(`${megabytes} MB written`);
      figures.push(...(await besideCp(rig, megabytes)));
      progress("copied one by one");
      for (const copies of [1, copiesAtOnce]) {
        figures.push(...(await atOnce(rig, megabytes, copies)));
        progress(`${copies} at once`);
      }
    }
    return figures;
  },
};

function withStranger(): object {
  return {
    ...seed,
    projects: seed.projects.map((one) => ({
      ...one,
      branches: [
        ...one.branches,
        { id: "br-stranger", name: "stranger", roles: ["app"], databases: [{ name: "stock", owner: "app" }] },
      ],
      endpoints: [...one.endpoints, { id: stranger, branchID: "br-stranger", type: "read_write" }],
    })),
  };
}

async function grow(rig: PostgresRig, megabytes: number): Promise<void> {
  const rows = `SELECT n, repeat(md5(n::text), 30) AS text FROM generate_series(1, ${megabytes * 1000}) n`;
  // Without VACUUM the server goes on writing into the table while it is copied.
  await rig.query(await rig.uri(), `CREATE TABLE large AS ${rows}`, "VACUUM (FREEZE) large");
  await rig.query(await rig.uri({ endpoint: stranger }), "SELECT 1");
}

/** A copy from the call to the end of its operation, and its databases by cp: not the log, of which files vanish. */
async function besideCp(rig: PostgresRig, megabytes: number): Promise<Figure[]> {
  const root = `${rig.data}.postgres/branches`;
  const directory = join(root, readdirSync(root).find((name) => name.startsWith(`${main}.`)) ?? "");
  // The first one waits for the server's checkpoint of all that was just written.
  await copied(rig);
  const samples = { cp: new Array<number>(), synced: new Array<number>(), own: new Array<number>() };
  for (let round = 0; round < rounds; round += 1) {
    const copy = join(rig.directory.path, "by-cp");
    const began = performance.now();
    await run("cp", ["-r", join(directory, "base"), copy]);
    samples.cp.push(performance.now() - began);
    await run("sync", ["-f", copy]);
    samples.synced.push(performance.now() - began);
    rmSync(copy, { recursive: true });
    samples.own.push(await timed(() => copied(rig)));
  }
  const times = (other: readonly number[]) => samples.own.map((own, round) => own / (other[round] ?? 0));
  const what = `of ${megabytes} MB`;
  // A small copy is mostly what each begins and ends with.
  const limit = megabytes >= 1024 ? { below: 1.5 } : {};
  return [
    { name: `a copy ${what}, from the call to the end of its operation`, unit: "ms", samples: samples.own },
    { name: `cp ${what}`, unit: "ms", samples: samples.cp },
    { name: `cp ${what}, and sync`, unit: "ms", samples: samples.synced },
    { name: `how many times as long as cp a copy ${what} takes`, unit: "times", samples: times(samples.cp) },
    { name: `the same against cp and sync`, unit: "times", samples: times(samples.synced), ...limit },
  ];
}

/** Wakes beside copies, and before them: other programs of the machine cost both the same. */
async function atOnce(rig: PostgresRig, megabytes: number, copies: number): Promise<Figure[]> {
  const uri = await rig.uri({ endpoint: stranger });
  const woken = async () => {
    await rig.call("POST", `/projects/${project}/endpoints/${stranger}/suspend`);
    await rig.until("idle", stranger);
    return timed(() => rig.query(uri, "SELECT 1"));
  };
  const quiet: number[] = [];
  while (quiet.length < quietWakes) quiet.push(await woken());
  const waking: number[] = [];
  const over = new AbortController();
  const all = Promise.all(Array.from({ length: copies }, () => copied(rig, pollMs)));
  const copying = timed(() => all).finally(() => over.abort());
  while (!over.signal.aborted) waking.push(await woken());
  const beside = copies === 1 ? `one copy of ${megabytes} MB` : `${copies} copies of ${megabytes} MB at once`;
  return [
    { name: `${beside}, until the last is done`, unit: "ms", samples: [await copying] },
    { name: `waking a compute before ${beside}`, unit: "ms", samples: quiet },
    { name: `waking a compute beside ${beside}`, unit: "ms", samples: waking, below: 1000 },
  ];
}

/** Creates a branch, and resolves when it has its data. */
async function copied(rig: PostgresRig, everyMs = 10): Promise<void> {
  const { status, body } = await rig.call("POST", branches, { branch: { parent_id: main } });
  if (status !== 201) throw new Error(`no branch: ${status} ${JSON.stringify(body)}`);
  const { id } = z.looseObject({ branch: z.looseObject({ id: z.string() }) }).parse(body).branch;
  for (;;) {
    const answer = await rig.call("GET", `${branches}/${id}`);
    if (JSON.stringify(answer.body).includes('"current_state":"ready"')) return;
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await act();
  return performance.now() - began;
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const { status, stderr } = await runProgram(program, args);
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
}
