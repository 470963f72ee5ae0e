import { beforeEach, expect, test } from "vitest";
import { ClusterClient } from "../../../src/operator/kube/client.ts";
import { flowOf } from "../../../src/operator/manager/flow-of.ts";
import { Informers } from "../../../src/operator/manager/informers.ts";
import { createMetrics } from "../../../src/operator/metrics/metrics.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { compute, uidOf } from "../../support/builders.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { noLines } from "../kube/reflector-world.ts";

const byCluster = { connectionRef: { kind: "ClusterServiceConnection", name: "fleet" } };
const own = (name: string) => ({ connectionRef: { kind: "ServiceConnection", name } });

/** A Compute of this number in a namespace. */
function inNamespace(namespace: string, index: number, spec: Record<string, unknown>): Compute {
  const made = compute({ name: `db-${index}`, uid: uidOf(index), spec });
  return { ...made, metadata: { ...made.metadata, namespace } };
}

const computes = [
  inNamespace("shop", 1, byCluster),
  inNamespace("shop", 2, byCluster),
  inNamespace("billing", 3, byCluster),
  inNamespace("shop", 4, own("default")),
  inNamespace("billing", 5, own("default")),
  inNamespace("shop", 6, own("second")),
];

let informers: Informers;
beforeEach(async () => {
  const clock = new VirtualClock();
  const request = ({ path }: { path: string }) =>
    Promise.resolve({
      status: 200,
      body: { metadata: { resourceVersion: "1" }, items: path.endsWith("/computes") ? computes : [] },
    });
  const { signal } = new AbortController();
  const client = new ClusterClient({ request, watch: () => noLines }, { clock, timeoutMs: 1000, signal });
  const shared = { client, clock, random: () => 0.5, log: silentLogger, metrics: createMetrics() };
  informers = new Informers({ ...shared, namespaces: [], selects: () => true });
  void informers.run(signal);
  await clock.advance(100);
});

const flow = (index: number) => flowOf("compute", uidOf(index), informers);
const tenant = (index: number) => flow(index).split("/")[0];

test("the flow of a Compute begins with its own namespace, also where several share the connection of the cluster", () => {
  expect([1, 2, 3, 4, 5, 6].map(tenant)).toEqual(["shop", "shop", "billing", "shop", "billing", "shop"]);
});

test("the flow is one for all Computes of a namespace and connection, and another for each connection", () => {
  expect(flow(2)).toBe(flow(1));
  expect(new Set([1, 3, 4, 5, 6].map(flow)).size).toBe(5);
});
