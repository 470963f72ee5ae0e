/**
 * CPU time of this thread for an act, in microseconds. The kernel may count it in ticks of 4 ms, so a short act is
 * done many times.
 */
export function cpuOf(act: () => void, times = 1): number {
  const began = process.threadCpuUsage();
  for (let done = 0; done < times; done += 1) act();
  return cpuSince(began) / times;
}

export function cpuSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(began);
  return user + system;
}

const zeros = `[${"0,".repeat(500_000)}0]`;

/** The measure of all work, as a machine may be slower than it was: to parse a megabyte of zeros. */
export function parseZeros(): void {
  JSON.parse(zeros);
}

/** The most that a call may take, in times of that measure. */
export const limit = 4;
