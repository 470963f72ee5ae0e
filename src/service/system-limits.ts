import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Reads a file in which Linux says what a process may have. */
export type TextOf = (file: string) => string;

/** Text of such a file: nothing where it is not there, as elsewhere than on Linux. */
export function systemText(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/**
 * Limits that the groups of this process set, and those that they are in, by the file's name in the first and in the
 * second version of groups: a container sees its own group as the root. Nothing stands for a group without a limit.
 */
export function groupLimits(controller: string, first: string, second: string, textOf: TextOf): number[] {
  const groups = [...textOf("/proc/self/cgroup").matchAll(/^\d+:([^:]*):(.*)$/gm)];
  const texts = groups.flatMap(([, kinds = "", path = ""]) => {
    const isSecond = kinds === "";
    if (!isSecond && kinds !== controller) return [];
    const own = (below: string) => join("/sys/fs/cgroup", kinds, below, isSecond ? second : first);
    return path.split("/").map((_, depth, names) => textOf(own(names.slice(0, depth + 1).join("/"))));
  });
  return texts.filter((text) => /^\d/.test(text)).map(Number);
}

/** The memory of the container or machine, in bytes: any number where the system does not say. */
export function mostMemory(textOf: TextOf = systemText): number {
  const [, kibibytes] = /^MemTotal: +(\d+) kB/m.exec(textOf("/proc/meminfo")) ?? [];
  const machine = kibibytes === undefined ? [] : [Number(kibibytes) * 1024];
  return Math.min(...machine, ...groupLimits("memory", "memory.limit_in_bytes", "memory.max", textOf));
}

const memory = mostMemory();

/** Part of the memory that one kind of what the process keeps for others may take. */
const part = 1 / 8;

/** So much, or an eighth of the memory where there is little, in the same unit of so many bytes. */
export function ofMemory(most: number, bytes = 1, all = memory): number {
  return Math.min(most, Math.floor((part * all) / bytes));
}
