import { getEventListeners } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCommand } from "../../src/operator/command.ts";
import type { Clock } from "../../src/operator/runtime/clock.ts";
import { freePort } from "../support/ports.ts";
import { realClock } from "../support/real-clock.ts";
import { HostileServer, json } from "./kube/hostile-server.ts";

let directory: string;
let server: HostileServer;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "run-ends-"));
  server = new HostileServer();
  server.behaviour = (request, response) => {
    if (request.url?.includes("watch=")) response.writeHead(200).flushHeaders();
    else json(response, 200, { metadata: { resourceVersion: "1" }, items: [] });
  };
  writeFileSync(
    join(directory, "kubeconfig"),
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: await server.start(), "insecure-skip-tls-verify": true } }],
      users: [{ name: "u", user: { token: "t" } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
});
afterEach(async () => {
  await server.stop();
  rmSync(directory, { recursive: true });
});

/** True if nothing listens there. */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const other = createServer();
    other.once("error", () => resolve(false));
    other.listen(port, () => other.close(() => resolve(true)));
  });
}

test("an operator that is stopped ends with no connection, listener or timer, and nothing at the signal of its caller", async () => {
  const port = await freePort();
  const stopping = new AbortController();
  const lines: string[] = [];
  const timers = new Set<object>();
  const clock: Clock = {
    ...realClock,
    after(ms, task) {
      const timer = { ms };
      timers.add(timer);
      const cancel = realClock.after(ms, () => {
        timers.delete(timer);
        task();
      });
      return () => {
        timers.delete(timer);
        cancel();
      };
    },
  };
  const running = runCommand(
    ["--kubeconfig", join(directory, "kubeconfig"), "--http-port", String(port), "--no-leader-elect"],
    {
      clock,
      random: Math.random,
      newID: () => "id",
      stdout: () => {},
      stderr: (line) => void lines.push(line),
      log: { write: (line) => void lines.push(line) },
      terminal: false,
      env: {},
      hostname: "laptop",
      signal: stopping.signal,
    },
  );
  // A probe whose connection is kept open.
  const probe = () => fetch(`http://127.0.0.1:${port}/readyz`, { headers: { connection: "keep-alive" } });
  await expect
    .poll(() =>
      probe().then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200);
  expect(server.open).toBeGreaterThan(0);
  expect(await isFree(port)).toBe(false);
  // A client that never ends its request.
  const stuck = connect(port, "127.0.0.1", () => stuck.write("GET /readyz HTTP/1.1\r\n"));
  const cutOff = new Promise<void>((resolve) => stuck.once("close", () => resolve()));
  stuck.on("error", () => {});
  await new Promise<void>((resolve) => stuck.once("connect", () => resolve()));
  await probe();
  stopping.abort();
  expect(await running).toBe(0);
  expect([...timers]).toEqual([]);
  const ended = lines.length;
  expect(lines.at(-1)).toContain("Stopped");
  expect(await isFree(port)).toBe(true);
  await cutOff;
  await expect.poll(() => server.open).toBe(0);
  expect(getEventListeners(stopping.signal, "abort")).toEqual([]);
  const asked = server.requests.length;
  await new Promise((resolve) => realClock.after(200, () => resolve(undefined)));
  expect([server.requests.length, lines.length]).toEqual([asked, ended]);
});

test("an operator whose health port is taken ends, says so, and holds no connection to the cluster", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, resolve));
  const address = taken.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const said: string[] = [];
  const status = await runCommand(["--kubeconfig", join(directory, "kubeconfig"), "--http-port", String(port)], {
    clock: realClock,
    random: Math.random,
    newID: () => "id",
    stdout: () => {},
    stderr: (line) => void said.push(line),
    log: { write: () => {} },
    terminal: false,
    env: {},
    hostname: "laptop",
    signal: new AbortController().signal,
  });
  taken.close();
  expect([status, server.open]).toEqual([1, 0]);
  expect(said.join()).toContain(`cannot listen on port ${port}`);
});

test.each([
  [["--lease-namespace", "named"], { POD_NAMESPACE: "pod" }, "namespaces/named/leases/compute-operator"],
  [["--lease-name", "shard"], { POD_NAMESPACE: "pod" }, "namespaces/pod/leases/shard"],
  [[], {}, "namespaces/default/leases/compute-operator"],
])("an operator with the flags %j in %j asks for the lease at %s", async (flags, env, path) => {
  const stopping = new AbortController();
  const asked: string[] = [];
  const { behaviour } = server;
  server.behaviour = (request, response) => {
    if (request.url?.includes("/leases")) asked.push(request.url);
    behaviour(request, response);
  };
  const running = runCommand(
    ["--kubeconfig", join(directory, "kubeconfig"), "--http-port", "0", "--leader-elect", ...flags],
    {
      clock: realClock,
      random: Math.random,
      newID: () => "id",
      stdout: () => {},
      stderr: () => {},
      log: { write: () => {} },
      terminal: false,
      env,
      hostname: "laptop",
      signal: stopping.signal,
    },
  );
  await expect.poll(() => asked.length).toBeGreaterThan(0);
  expect(asked[0]).toContain(path);
  stopping.abort();
  await running;
});
