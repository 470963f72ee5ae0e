import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { Child } from "../../support/child.ts";
import { eventually } from "../../support/eventually.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { freePort } from "../../support/ports.ts";
import { shardLabel } from "./fleet.ts";
import { deployedLimitMiB, limitMemory } from "./memory-limit.ts";

/** Where a program under measurement finds what it works on. */
export interface Place {
  kubeconfig: string;
  baseURL: string;
  key: string;
}

export type SubjectName = "operator" | "operator, sampled" | "two shards" | "baseline";

/** A program under measurement. */
export interface Subject {
  name: SubjectName;
  /** Whether a second process waits for the lease of the first. */
  elects: boolean;
  /** Starts it as processes of its own, and waits until they say that they work, where they say so. */
  start(place: Place): Promise<Running>;
}

export interface Running {
  children: readonly Child[];
  /** The longest task since the last call, in seconds; not a number where the program does not say so. */
  longestTask(): Promise<number>;
  /** The most memory that was charged to a process, as a container counts it, in MiB; not a number where unknown. */
  chargedMiB(): number;
}

/** The bundle, with the flags and the environment of the image, under the memory limit that `deploy/` sets. */
export function operatorOfImage(): Subject {
  const image = imageOf();
  return {
    name: "operator",
    elects: true,
    start: async (place) => together([await image(place, [])]),
  };
}

/**
 * The same, whose longest task is the most that its thread computed between two timers: what `event_loop_delay` shows
 * includes the time for which the machine kept the process from its core. Sampling takes some CPU of its own.
 */
export function sampledOperator(): Subject {
  const image = imageOf();
  return {
    name: "operator, sampled",
    elects: true,
    async start(place) {
      const directory = temporaryDirectory("loop-samples");
      const file = join(directory.path, "samples");
      writeFileSync(file, "");
      const one = await image(place, [], { preload: join(import.meta.dirname, "loop-sampler.ts"), samples: file });
      let since = 0;
      const longest = async () => {
        const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
        const samples = lines.map((line) => line.split(" ").map(Number));
        const own = samples.flatMap(([at = 0, ms = 0]) => (at >= since ? [ms / 1000] : []));
        since = Date.now();
        return Math.max(0, ...own);
      };
      return { ...together([one]), longestTask: longest };
    },
  };
}

/** Two of them, each with half of the Computes and of the request budget. */
export function twoShards(): Subject {
  const image = imageOf();
  return {
    name: "two shards",
    elects: false,
    async start(place) {
      const flags = (shard: number) => ["--selector", `${shardLabel}=${shard}`, "--budget-share", "0.5"];
      return together(await Promise.all([0, 1].map((shard) => image(place, flags(shard)))));
    },
  };
}

function together(processes: readonly OneOfImage[]): Running {
  return {
    children: processes.map(({ child }) => child),
    longestTask: async () => Math.max(...(await Promise.all(processes.map(({ url }) => longestTask(url))))),
    chargedMiB: () => Math.max(...processes.map((one) => one.chargedMiB())),
  };
}

interface OneOfImage {
  child: Child;
  /** Of its metrics. */
  url: string;
  chargedMiB(): number;
}

/** How many cgroups were made by this process. */
let limits = 0;

/** Builds the bundle; the function starts it with these flags of `run`. */
function imageOf(): (
  place: Place,
  flags: readonly string[],
  sampled?: { preload: string; samples: string },
) => Promise<OneOfImage> {
  const directory = temporaryDirectory("scale");
  execFileSync(process.execPath, ["scripts/bundle.ts", directory.path]);
  const dockerfile = readFileSync("Dockerfile", "utf8");
  const last = dockerfile.slice(dockerfile.lastIndexOf("FROM "));
  const entrypoint = z.array(z.string()).parse(JSON.parse(/^ENTRYPOINT (\[.*\])$/m.exec(last)?.[1] ?? "[]"));
  const nodeFlags = entrypoint.filter((word) => word.startsWith("--"));
  const variables = Object.fromEntries(
    [...last.matchAll(/^ENV (.+)$/gm)].flatMap(([, line = ""]) =>
      line.split(" ").map((pair): [string, string] => {
        const [name = "", value = ""] = pair.split("=");
        return [name, value];
      }),
    ),
  );
  return async ({ kubeconfig, baseURL }, flags, sampled) => {
    const port = await freePort();
    const limit = limitMemory(`compute-operator-bench-${process.pid}-${limits++}`, deployedLimitMiB());
    const preloads = sampled === undefined ? [] : [`--import=${sampled.preload}`];
    const command = [process.execPath, ...preloads, ...nodeFlags, join(directory.path, "compute-operator.js"), "run"];
    const own = ["--kubeconfig", kubeconfig, "--http-port", String(port), "--allowed-base-url", baseURL];
    const child = await Child.start({
      name: "operator",
      command: "/bin/sh",
      // Without a limit it writes its id to a file that nobody reads.
      args: [
        "-c",
        'echo $$ > "$0" && exec "$@"',
        limit?.procs ?? "/dev/null",
        ...command,
        "--leader-elect",
        ...own,
        ...flags,
      ],
      env: { PATH: process.env["PATH"], ...variables, ...(sampled && { LOOP_SAMPLES: sampled.samples }) },
    });
    if (limit !== undefined) void child.end.finally(() => limit.remove());
    await eventually("the operator to be ready", async () => {
      if (!child.running) throw new Error(`it ended: ${child.tail()}`);
      return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok || undefined;
    });
    return { child, url: `http://127.0.0.1:${port}/metrics`, chargedMiB: () => limit?.peakMiB() ?? Number.NaN };
  };
}

async function longestTask(url: string): Promise<number> {
  const text = await (await fetch(url)).text();
  return Number(/event_loop_delay_seconds\{statistic="max"\} (\S+)/.exec(text)?.[1]);
}

export const baseline: Subject = {
  name: "baseline",
  elects: false,
  async start({ kubeconfig, baseURL, key }) {
    const child = await Child.start({
      name: "baseline",
      command: process.execPath,
      args: ["test/bench/baseline/operator.ts", "--kubeconfig", kubeconfig, "--base-url", baseURL, "--key", key],
    });
    return { children: [child], longestTask: async () => Number.NaN, chargedMiB: () => Number.NaN };
  },
};
