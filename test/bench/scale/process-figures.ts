import { readFileSync, writeFileSync } from "node:fs";

/** Milliseconds of one tick of the clock that Linux counts a process's CPU in. */
const tickMs = 10;

/** What a process has used of the CPU since it began, as Linux counts it, in seconds. */
export function cpuSeconds(pid: number): number {
  const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user = "0", system = "0"] = fields.split(" ").slice(11, 13);
  return ((Number(user) + Number(system)) * tickMs) / 1000;
}

/** Megabytes in memory now, and the most there were since `forgetPeak`. */
export function memoryOf(pid: number): { rssMB: number; peakMB: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
  return { rssMB: megabytes("VmRSS"), peakMB: megabytes("VmHWM") };
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}
