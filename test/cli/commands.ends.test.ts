import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test } from "vitest";
import { applyCommand, planCommand } from "../../src/cli/commands/command.ts";
import { HostileServer, json } from "../operator/kube/hostile-server.ts";
import { realClock } from "../support/real-clock.ts";
import { kubeconfig } from "./beside.ts";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents } from "./texts.ts";

let service: HostileServer;
let stage: Stage;
let baseURL: string;
beforeEach(async () => {
  stage = new Stage();
  service = new HostileServer();
  service.behaviour = (request, response) => {
    const path = request.url ?? "";
    json(response, 200, path.includes("/branches") ? { branches: [] } : { endpoints: [] });
  };
  baseURL = `${await service.start()}/api/v2`;
});
afterEach(async () => {
  await service.stop();
  stage[Symbol.dispose]();
});

/** What the command line gives the commands, with the network of this machine. */
function ports(signal: AbortSignal) {
  const { serviceTransport: _, ...others } = stage.ports();
  return { ...others, clock: realClock, signal };
}

const manifests = () =>
  stage.file("shop.yaml", documents(connection, compute("a")).replace(/baseURL: "[^"]*"/, `baseURL: "${baseURL}"`));

test.each([
  ["plan", planCommand, []],
  ["apply", applyCommand, []],
] as const)(
  "%s ends without a connection to the service, and with nothing at the signal of its caller",
  async (_, command, flags) => {
    const { signal } = new AbortController();
    const status = await command(["-f", manifests(), ...flags], ports(signal));
    // Apply without a terminal refuses to ask, after it has listed the service.
    expect(status).toBe(command === planCommand ? 2 : 1);
    expect(service.requests.length).toBeGreaterThan(0);
    await expect.poll(() => service.open).toBe(0);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  },
);

test("plan ends without a connection to the cluster that it read, also where it may not read it", async () => {
  const cluster = new HostileServer();
  cluster.behaviour = (_, response) => json(response, 403, { reason: "Forbidden", message: "no" });
  const config = stage.file(
    "kubeconfig",
    kubeconfig.replace(
      'server: "https://cluster.test:6443"',
      `server: "${await cluster.start()}", insecure-skip-tls-verify: true`,
    ),
  );
  const { signal } = new AbortController();
  const status = await planCommand(["-f", manifests(), "--kubeconfig", config], ports(signal));
  expect(status).toBe(1);
  expect(cluster.requests.length).toBeGreaterThan(0);
  await expect.poll(() => cluster.open).toBe(0);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  await cluster.stop();
});
