import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";

const workload = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.tuple([z.object({ resources: z.object({ limits: z.object({ memory: z.string() }) }) })]),
      }),
    }),
  }),
});

/** The memory limit that `deploy/` sets, in MiB. */
export function deployedLimitMiB(): number {
  const { spec } = workload.parse(parse(readFileSync("deploy/base/workload/deployment.yaml", "utf8")));
  const [, mebibytes] = /^(\d+)Mi$/.exec(spec.template.spec.containers[0].resources.limits.memory) ?? [];
  if (mebibytes === undefined) throw new Error("deploy/base/workload/deployment.yaml sets no limit in Mi");
  return Number(mebibytes);
}

/** A memory cgroup: what runs in it and needs more is killed by the kernel. */
export interface MemoryLimit {
  /** The file that a process writes its id to. */
  procs: string;
  /** The most that was charged to it, in MiB. */
  peakMiB(): number;
  /** Removes it, once nothing runs in it. */
  remove(): void;
}

const versions = [
  { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes" },
  { root: "/sys/fs/cgroup", limit: "memory.max", peak: "memory.peak" },
] as const;

/** A cgroup of that size; `undefined` where this machine lets us make none. */
export function limitMemory(name: string, mebibytes: number): MemoryLimit | undefined {
  for (const { root, limit, peak } of versions) {
    const directory = join(root, name);
    try {
      mkdirSync(directory);
      if (existsSync(join(directory, limit))) {
        writeFileSync(join(directory, limit), String(mebibytes * 2 ** 20));
        return {
          procs: join(directory, "cgroup.procs"),
          peakMiB: () => Number(readFileSync(join(directory, peak), "utf8")) / 2 ** 20,
          remove: () => rmdirSync(directory),
        };
      }
      rmdirSync(directory);
    } catch {
      // No such version here, or no right to it.
    }
  }
  return undefined;
}
