import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { mostConnections } from "../../../src/service/sharing/most-connections.ts";
import { Child } from "../../support/child.ts";
import { freePort } from "../../support/ports.ts";

const limits = (files: string) => `Limit                     Soft Limit           Hard Limit           Units
Max processes             95000                95000                processes
Max open files            ${files.padEnd(20)} 524288               files
Max locked memory         8388608              8388608              bytes`;

const reading = (files: Readonly<Record<string, string>>) => (file: string) => files[file] ?? "";

it.each([
  ["1048576", 1 / 2, 16_384],
  ["20000", 1 / 2, 10_000],
  ["4096", 1 / 4, 1024],
  ["1023", 1 / 2, 511],
  ["unlimited", 1 / 2, 16_384],
])("a process that may open %s files gives a part of %d of them to connections: %i", (files, part, most) => {
  expect(mostConnections(16_384, part, reading({ "/proc/self/limits": limits(files) }))).toBe(most);
});

it("a system without such limits to read takes the most", () => {
  expect(mostConnections(16_384, 1 / 2, () => "")).toBe(16_384);
});

it.each<[string, Record<string, string>]>([
  ["machine", { "/proc/meminfo": "MemTotal:         500000 kB\nMemFree: 1 kB\n" }],
  [
    "container",
    {
      "/proc/meminfo": "MemTotal:       25000000 kB\n",
      "/proc/self/cgroup": "0::/\n",
      "/sys/fs/cgroup/memory.max": "512000000\n",
    },
  ],
  [
    "group of the first version",
    {
      "/proc/self/cgroup": "9:memory:/docker/b\n8:pids:/p\n0::/\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
      "/sys/fs/cgroup/memory/docker/b/memory.limit_in_bytes": "512000000\n",
      "/sys/fs/cgroup/pids/p/memory.limit_in_bytes": "1\n",
    },
  ],
])("a %s of 512 MB has as many connections as fit into an eighth of it", (_, files) => {
  expect(mostConnections(16_384, 1 / 2, reading(files))).toBe(800);
});

it("a stranger who connects as often as a process may open files keeps nobody else out", async () => {
  const port = await freePort();
  const main = join(import.meta.dirname, "..", "..", "..", "src", "main.ts");
  const service = await Child.start({
    name: "service",
    command: "/bin/sh",
    args: [
      "-c",
      'ulimit -n 200; exec "$0" "$@"',
      process.execPath,
      main,
      "service",
      "--data",
      ":memory:",
      "--port",
      String(port),
    ],
  });
  const sockets: Socket[] = [];
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await service.kill();
  });
  await service.waitForLine(/Listening on http/);
  const connected = (localAddress: string) =>
    connect({ host: "127.0.0.1", port, localAddress })
      .on("error", () => {})
      .resume();
  for (let times = 0; times < 300; times += 1) sockets.push(connected("127.0.0.1"));
  await expect.poll(() => sockets.filter(({ destroyed }) => destroyed).length).toBe(250);
  const other = connected("127.0.0.2").setEncoding("utf8");
  sockets.push(other);
  other.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const [answer] = await once(other, "data");
  expect(answer).toContain("HTTP/1.1 200 OK");
});
