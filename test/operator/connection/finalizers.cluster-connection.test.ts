import { expect, test } from "vitest";
import { Finalizers } from "../../../src/operator/connection/finalizers.ts";
import { namespaceAccess } from "../../../src/operator/connection/read-account.ts";
import { parseClusterServiceConnection } from "../../../src/operator/resources/cluster-service-connection.ts";
import { installCRDs } from "../../support/shipped-crd.ts";
import { MemoryCluster } from "../kube/memory-cluster.ts";

const ours = "/apis/compute-operator.dev/v1alpha1";
const apiVersion = "compute-operator.dev/v1alpha1";
const inUse = "compute-operator.dev/in-use";
const selected = { fleet: "yes" };

/** A ClusterServiceConnection that one Compute names, and what the cache shows of the labels of that namespace. */
function setUp({ now, cached, held }: Record<"now" | "cached", Record<string, string>> & { held: string[] }) {
  const cluster = new MemoryCluster();
  installCRDs(cluster.server);
  const send = (method: "POST" | "GET", path: string, body?: object) =>
    cluster.server.handle({ method, path, body }).body;
  send("POST", "/api/v1/namespaces", { metadata: { name: "shop", labels: now } });
  send("POST", `${ours}/clusterserviceconnections`, {
    apiVersion,
    kind: "ClusterServiceConnection",
    metadata: { name: "fleet", finalizers: held },
    spec: {
      baseURL: "https://service.example.com/api/v2",
      apiKeySecretRef: { name: "key" },
      namespaceSelector: { matchLabels: selected },
      allowedProjects: ["*"],
    },
  });
  send("POST", `${ours}/namespaces/shop/computes`, {
    apiVersion,
    kind: "Compute",
    metadata: { name: "db" },
    spec: {
      projectID: "shop",
      branchID: "br-main",
      connectionRef: { kind: "ClusterServiceConnection", name: "fleet" },
    },
  });
  const connection = () => {
    const parsed = parseClusterServiceConnection(send("GET", `${ours}/clusterserviceconnections/fleet`));
    if (!parsed.ok) throw new Error(parsed.problem);
    return parsed.value;
  };
  const finalizers = new Finalizers({
    cluster: cluster.client(),
    cache: {
      connectionsOf: () => [connection()],
      secret: () => undefined,
      secretsOf: () => [],
      usersOf: () => [],
      isUser: (compute, labelsOf = () => cached) => namespaceAccess(connection(), compute, labelsOf) === "granted",
    },
    uninstalling: () => Promise.resolve(false),
  });
  return { cluster, connection, finalizers };
}

test.each([
  ["is kept where the cache does not show yet that it selects the namespace again", selected, {}, [inUse]],
  ["is removed where the cache does not show yet that it selects the namespace no longer", {}, selected, []],
])("the finalizer of a ClusterServiceConnection %s", async (_, now, cached, kept) => {
  const { connection, finalizers } = setUp({ now, cached, held: [inUse] });
  await finalizers.protect(connection());
  expect(connection().metadata.finalizers ?? []).toEqual(kept);
});

test("without the right to list namespaces, the cache decides", async () => {
  const { cluster, connection, finalizers } = setUp({ now: selected, cached: {}, held: [inUse] });
  cluster.fate = ({ path }) =>
    path === "/api/v1/namespaces" ? { kind: "status", afterMs: 0, status: 403 } : undefined;
  expect(await finalizers.protect(connection())).toEqual({ kind: "kept" });
  expect(connection().metadata.finalizers ?? []).toEqual([]);
});
