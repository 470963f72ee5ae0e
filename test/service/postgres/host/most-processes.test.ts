import { expect, it } from "vitest";
import { mostProcesses } from "../../../../src/service/postgres/host/most-processes.ts";

const limits = (processes: string) => `Limit                     Soft Limit           Hard Limit           Units
Max processes             ${processes.padEnd(20)} 95000                processes
Max open files            1024                 524288               files`;

const read = (files: Readonly<Record<string, string>>) => mostProcesses((file) => files[file] ?? "");

it.each<[string, number, Record<string, string>]>([
  ["its user has a limit", 3000, { "/proc/self/limits": limits("4000") }],
  ["nothing has a limit", Number.POSITIVE_INFINITY, { "/proc/self/limits": limits("unlimited") }],
  ["the system shows none", Number.POSITIVE_INFINITY, {}],
  [
    "its container has one",
    768,
    { "/proc/self/limits": limits("4000"), "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/pids.max": "1024\n" },
  ],
  [
    "its group has one, and that of all none",
    75,
    { "/proc/self/cgroup": "0::/user.slice/a\n", "/sys/fs/cgroup/user.slice/a/pids.max": "100\n" },
  ],
  [
    "a group that its own is in has one",
    60,
    {
      "/proc/self/cgroup": "0::/user.slice/a/b\n",
      "/sys/fs/cgroup/user.slice/a/pids.max": "80\n",
      "/sys/fs/cgroup/user.slice/a/b/pids.max": "100\n",
    },
  ],
  [
    "its groups are of the first version",
    90,
    {
      "/proc/self/cgroup": "9:memory:/m\n8:pids:/docker/b\n0::/\n",
      "/sys/fs/cgroup/pids/pids.max": "120\n",
      "/sys/fs/cgroup/pids/docker/b/pids.max": "max\n",
      "/sys/fs/cgroup/m/pids.max": "1\n",
    },
  ],
])("servers and their clients have three quarters of the processes where %s: %d", (_, most, files) => {
  expect(read(files)).toBe(most);
});

it("the limits of this system can be read", () => {
  expect(mostProcesses()).toBeGreaterThan(0);
});
