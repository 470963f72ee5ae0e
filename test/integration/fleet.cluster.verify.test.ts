import { afterAll, expect, it } from "vitest";
import { type Compute, parseCompute } from "../../src/operator/resources/compute.ts";
import { startWithCrds } from "../control-plane/crds.ts";
import { eventually } from "../support/eventually.ts";
import { isReady } from "../support/is-ready.ts";
import { realClock } from "../support/real-clock.ts";
import { Cluster, type Raw } from "./support/cluster-admin.ts";
import { InProcessOperator } from "./support/in-process-operator.ts";
import { keySecret, manifest } from "./support/manifests.ts";
import { Network } from "./support/network.ts";
import { goodKey, newService, project } from "./support/seeded-service.ts";

const count = 40;
const members = 10;
const branches = Array.from({ length: count / 2 }, (_, n) => `br-${n}`);
const network = new Network();
const host = network.connect("service.test", newService({ branches, service: { timeScale: 1000 } }));
const api = "compute-operator.dev/v1alpha1";

/** The manifests as they stand in Git: 50 Computes, ten of them members of pools. */
function manifests(): { kind: "Compute" | "ComputePool"; object: Raw }[] {
  const adopt = { former: true };
  const computes = Array.from({ length: count }, (_, n) => {
    const spec = n % 2 === 0 ? { branchID: `br-${n / 2}` } : { branchID: `br-${(n - 1) / 2}`, type: "read_only" };
    return { kind: "Compute" as const, object: manifest(`db-${n}`, { ...spec, adopt }) };
  });
  const template = { projectID: project, branchID: "br-0" };
  const pools = ["web", "jobs"].map((name) => ({
    kind: "ComputePool" as const,
    object: {
      apiVersion: api,
      kind: "ComputePool",
      metadata: { name },
      spec: { replicas: members / 2, adoptFormer: true, template },
    },
  }));
  return [...computes, ...pools];
}

/** A control plane with an operator, until `live` ends; all manifests are applied and Ready when it is called. */
async function inNewCluster(live: (computes: Raw[], cluster: Cluster) => Promise<void>): Promise<void> {
  await using controlPlane = await startWithCrds();
  const { kubeconfig } = controlPlane;
  await using operator = new InProcessOperator({ kubeconfig, serviceTransport: network, settings: { fleet: "prod" } });
  operator.start();
  const cluster = new Cluster(operator.transport);
  await cluster.createNamespace("shop");
  await cluster.create("Secret", "shop", keySecret(goodKey));
  const fields = { baseURL: "http://service.test/api/v2", apiKeySecretRef: { name: "service-api-key" } };
  const requestBudget = { perMinute: 100_000, burst: 1000 };
  await cluster.create("ServiceConnection", "shop", {
    apiVersion: api,
    kind: "ServiceConnection",
    metadata: { name: "default" },
    spec: { ...fields, refreshInterval: "5s", requestBudget },
  });
  for (const { kind, object } of manifests()) await cluster.create(kind, "shop", object);
  const computes = await eventually(
    "all ready",
    async () => {
      const all = await cluster.list("Compute", "shop");
      return all.length === count + members && all.every(isReady) ? all : undefined;
    },
    { timeoutMs: 120_000 },
  );
  await live(computes, cluster);
}

function statusOf(raw: Raw): Compute["status"] {
  const parsed = parseCompute(raw);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value.status;
}

const endpointsOf = (computes: readonly Raw[]) =>
  new Map(computes.map((raw) => [raw.metadata.name, statusOf(raw).endpointID]));

afterAll(() => host.service.close());

it("a control plane whose etcd is lost and made again has the same 50 endpoints, by one PATCH of the name each", async () => {
  const before = new Map<string, unknown>();
  await inNewCluster(async (computes) => {
    for (const [name, id] of endpointsOf(computes)) before.set(name, id);
    // Statuses and signatures come to rest.
    await new Promise((resolve) => realClock.after(3000, () => resolve(undefined)));
  });
  expect(new Set(before.values()).size).toBe(count + members);
  host.calls.length = 0;
  await inNewCluster(async (computes, cluster) => {
    expect(endpointsOf(computes)).toEqual(before);
    const writes = host.calls.filter(({ method, status }) => method !== "GET" && status !== 423);
    expect(writes.map(({ method }) => method)).toEqual(Array(count + members).fill("PATCH"));
    for (const { body } of writes) {
      expect(body).toEqual({
        endpoint: { name: expect.stringMatching(/^k8s-[0-9a-f]{8}-[0-9a-f]{16}-[0-9a-f]{32}$/) },
      });
    }
    // Events are written one at a time, after the statuses.
    await eventually("the event", async () => {
      const events = await cluster.events("shop", "db-1");
      return events.find(({ type, reason }) => type === "Normal" && reason === "Adopted");
    });
  });
}, 300_000);
