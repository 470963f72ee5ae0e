import { beforeAll, describe, expect, it } from "vitest";
import { parseRunFlags } from "../../src/operator/flags.ts";
import { needsTools, runTool } from "../tools/tools.ts";
import { argsOf, chart, deploymentsOf, helm, installNamespace, kustomize, only, type Rendered } from "./render.ts";

needsTools("helm");

const overlays = [
  "one-namespace",
  "some-namespaces",
  "high-availability",
  "development",
  "two-shards",
  "cluster-connections-only",
] as const;

/** What this policy warns of is in the notes of the chart. */
const notInChart = "compute-operator-image-registry";

let base: Rendered[] = [];
let rendered: Record<(typeof overlays)[number], Rendered[]>;
beforeAll(async () => {
  base = await kustomize("deploy");
  const [one, some, high, development, shards, clusterOnly] = await Promise.all(
    overlays.map((name) => kustomize(`deploy/overlays/${name}`)),
  );
  rendered = {
    "one-namespace": one ?? [],
    "some-namespaces": some ?? [],
    "high-availability": high ?? [],
    development: development ?? [],
    "two-shards": shards ?? [],
    "cluster-connections-only": clusterOnly ?? [],
  };
});

/** "ClusterRoleBinding compute-operator" and the like, of the bindings that give the operator rights everywhere. */
const clusterWide = (objects: readonly Rendered[]) =>
  objects.filter(({ kind }) => kind === "ClusterRoleBinding").map(({ metadata }) => metadata.name);

describe("Helm and kustomize", () => {
  /** Without the labels and annotations by which the two tell their own objects. */
  function plain(value: unknown): unknown {
    if (Array.isArray(value)) return value.filter((item) => !isTestPod(item)).map(plain);
    if (typeof value !== "object" || value === null) return value;
    const own = /^(app\.kubernetes\.io\/(instance|version|managed-by|name|part-of)|helm\.sh\/(chart|resource-policy))$/;
    const entries = Object.entries(value).filter(([key]) => !own.test(key));
    const kept = entries.map(([key, inner]) => [key, plain(inner)] as const);
    const empty = (key: string, inner: unknown) => /^(labels|annotations)$/.test(key) && JSON.stringify(inner) === "{}";
    return Object.fromEntries(kept.filter(([key, inner]) => !empty(key, inner)));
  }

  /** The network policy of the chart lets the pod of `helm test` in; kustomize has none. */
  function isTestPod(peer: unknown): boolean {
    return /^\{"podSelector":.*"app\.kubernetes\.io\/name":"compute-operator-test"/.test(JSON.stringify(peer));
  }

  const byName = (objects: readonly Rendered[]) =>
    Object.fromEntries(
      objects
        .filter(({ kind }) => kind !== "Namespace")
        .filter(({ metadata }) => metadata.name !== notInChart)
        .map((object) => [`${object.kind} ${object.metadata.namespace ?? ""}/${object.metadata.name}`, plain(object)]),
    );

  it("render the same CRDs, rights, pods and policies", async () => {
    expect(byName(await helm())).toEqual(byName(base));
  });

  it("label all that they install but the CRDs, so that it is found, and removed without them, by that label", async () => {
    for (const objects of [base, ...Object.values(rendered), await helm()]) {
      const others = objects.filter(
        ({ metadata }) => metadata.labels?.["app.kubernetes.io/name"] !== "compute-operator",
      );
      expect(new Set(others.map(({ kind }) => kind))).toEqual(new Set(["CustomResourceDefinition"]));
    }
  });

  it("render the same for several namespaces", async () => {
    expect(byName(await helm('namespaces=["shop","billing"]'))).toEqual(byName(rendered["some-namespaces"]));
  });

  it("render the same where only the operator's own namespace has API keys", async () => {
    expect(byName(await helm("rbac.secretsEverywhere=false"))).toEqual(byName(rendered["cluster-connections-only"]));
  });
});

describe("the chart", () => {
  it("passes helm lint", async () => {
    const { stdout, stderr, status } = await runTool("helm", ["lint", "--strict", chart]);
    expect(`${stdout}${stderr}`).toContain("0 chart(s) failed");
    expect(status).toBe(0);
  });

  it("keeps the CRDs when it is uninstalled, and upgrades them when it is upgraded", async () => {
    const definitions = (await helm()).filter(({ kind }) => kind === "CustomResourceDefinition");
    expect(definitions).toHaveLength(5);
    for (const { metadata } of definitions) {
      expect(metadata.annotations).toEqual({ "helm.sh/resource-policy": "keep" });
    }
    expect((await helm("crds.install=false")).filter(({ kind }) => kind === "CustomResourceDefinition")).toEqual([]);
  });

  it("removes when uninstalled what kubectl delete -k deploy/base removes, and nothing more", async () => {
    const names = (objects: readonly Rendered[]) =>
      objects
        .filter(
          ({ kind, metadata }) => kind !== "Namespace" && metadata.annotations?.["helm.sh/resource-policy"] !== "keep",
        )
        .filter(({ metadata }) => metadata.name !== notInChart)
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
        .toSorted();
    expect(names(await helm())).toEqual(names(await kustomize("deploy/base")));
  });

  it("passes its values on to the operator", async () => {
    const objects = await helm(
      'operator={"selector":"team=shop","allowedBaseURLs":["https://*.example.com/api/v2"],"logLevel":"debug","workers":8,"createSettle":"90s","fleet":"prod","maxDeletesPerMinute":5,"budgetShare":0.5,"extraArgs":["--http-port=8080"]}',
      'leaderElection={"enabled":false,"leaseName":"mine"}',
      "replicaCount=1",
    );
    expect(argsOf(objects)).toEqual([
      "run",
      "--selector=team=shop",
      "--no-leader-elect",
      "--lease-name=mine",
      "--allowed-base-url=https://*.example.com/api/v2",
      "--log-level=debug",
      "--workers=8",
      "--create-settle=90s",
      "--fleet=prod",
      "--max-deletes-per-minute=5",
      "--budget-share=0.5",
      "--http-port=8080",
    ]);
  });

  it("takes a share as --set gives it, which knows no numbers with a point", async () => {
    expect(argsOf(await helm('operator.budgetShare="0.5"'))).toEqual(["run", "--budget-share=0.5"]);
  });

  it("lets the node of a single replica be drained", async () => {
    expect((await helm("replicaCount=1")).filter(({ kind }) => kind === "PodDisruptionBudget")).toEqual([]);
  });

  it("never runs two replicas that no lease keeps apart, not even while one takes the place of the other", async () => {
    const without = 'leaderElection={"enabled":false}';
    await expect(helm(without)).rejects.toThrow(/replicaCount is 2 and leaderElection.enabled is false/);
    const [deployment] = deploymentsOf(await helm(without, "replicaCount=1"));
    expect(deployment?.spec["strategy"]).toEqual({ type: "Recreate" });
  });

  it("adds what the Prometheus Operator and Grafana read where it is asked to", async () => {
    const objects = await helm("serviceMonitor.enabled=true", "prometheusRule.enabled=true");
    const monitoring = await kustomize("deploy/monitoring");
    expect(only(objects, "PrometheusRule")["spec"]).toEqual(only(monitoring, "PrometheusRule")["spec"]);
    expect(only(objects, "ServiceMonitor")["spec"]).toMatchObject({ endpoints: [{ port: "http", path: "/metrics" }] });
    const dashboards = only(await helm("dashboards.enabled=true"), "ConfigMap");
    expect(dashboards["data"]).toEqual(only(monitoring, "ConfigMap")["data"]);
    expect(dashboards.metadata.labels).toMatchObject(only(monitoring, "ConfigMap").metadata.labels ?? {});
    const alone = await helm("serviceMonitor.enabled=true", "metrics.service.enabled=false");
    expect(only(alone, "Service")["spec"]).toEqual(only(objects, "Service")["spec"]);
  });

  it.each([
    ["a value that does not exist", "replicas=3", "additional properties 'replicas' not allowed"],
    ["an unknown log level", 'operator.logLevel="loud"', "/operator/logLevel"],
    ["a share of nothing", "operator.budgetShare=0", "/operator/budgetShare"],
    ["a share of nothing, as --set gives it", 'operator.budgetShare="0.0"', "/operator/budgetShare"],
    [
      "a policy that names no port, and so lets out to all",
      "networkPolicy.egressPorts=[]",
      "/networkPolicy/egressPorts",
    ],
    ["a budget that is neither number nor percentage", 'podDisruptionBudget.minAvailable="one"', "/minAvailable"],
    ["a digest that is none", 'image.digest="latest"', "/image/digest"],
    ["too short a time to shut down", "terminationGracePeriodSeconds=1", "/terminationGracePeriodSeconds"],
  ])("refuses %s", async (_, value, message) => {
    await expect(helm(value)).rejects.toThrow(message);
  });
});

describe("the operator's command line", () => {
  it.each(overlays)("in %s is one that it takes, with a lease name of its own for each part", (name) => {
    const flags = deploymentsOf(rendered[name]).map(({ spec }) => {
      const [command, ...args] = spec.template.spec.containers[0].args;
      expect(command).toBe("run");
      // The kubelet puts variables in, and refuses nothing.
      return parseRunFlags(args.map((arg) => arg.replaceAll("$(POD_NAMESPACE)", "shop")));
    });
    expect(new Set(flags.map(({ leaseName }) => leaseName)).size).toBe(flags.length);
  });

  it("in two-shards gives each Compute to exactly one of the two", () => {
    const shards = deploymentsOf(rendered["two-shards"]).map(({ spec }) =>
      parseRunFlags(spec.template.spec.containers[0].args.slice(1)),
    );
    const label = "compute-operator.dev/shard";
    for (const labels of [undefined, {}, { [label]: "a" }, { [label]: "b" }, { [label]: "c" }, { other: "b" }]) {
      expect(shards.filter(({ selects }) => selects(labels))).toHaveLength(1);
    }
    expect(shards.reduce((sum, { budgetShare }) => sum + budgetShare, 0)).toBe(1);
  });
});

describe("the overlays", () => {
  it("one-namespace gives no right beyond the namespace except to read the operator's own CRDs, by a binding of its own", () => {
    const objects = rendered["one-namespace"];
    expect(clusterWide(objects)).toEqual(["compute-operator-definitions-shop"]);
    const placed = objects.filter(({ metadata }) => metadata.namespace !== undefined);
    expect(new Set(placed.map(({ metadata }) => metadata.namespace))).toEqual(new Set(["shop"]));
    expect(argsOf(objects)).toEqual(["run", "--namespace=$(POD_NAMESPACE)"]);
  });

  it("one-namespace leaves the namespace to its owner", () => {
    expect(rendered["one-namespace"].filter(({ kind }) => kind === "Namespace")).toEqual([]);
  });

  it("some-namespaces binds the rights to Computes and Secrets namespace by namespace", () => {
    const objects = rendered["some-namespaces"];
    expect(clusterWide(objects)).toEqual(["compute-operator-definitions"]);
    const bindings = objects.filter(({ kind }) => kind === "RoleBinding");
    expect(bindings.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).toSorted()).toEqual([
      "billing/compute-operator",
      "billing/compute-operator-secrets",
      "compute-operator-system/compute-operator-leader-election",
      "shop/compute-operator",
      "shop/compute-operator-secrets",
    ]);
    expect(argsOf(objects)).toEqual(["run", "--namespace=shop", "--namespace=billing"]);
  });

  it("high-availability runs three replicas, two of which always stay", () => {
    expect(deploymentsOf(rendered["high-availability"])[0]?.spec.replicas).toBe(3);
    expect(only(rendered["high-availability"], "PodDisruptionBudget")["spec"]).toMatchObject({ minAvailable: 2 });
  });

  it("development runs one replica without a lease", () => {
    expect(deploymentsOf(rendered.development)[0]?.spec.replicas).toBe(1);
    expect(argsOf(rendered.development)).toContain("--no-leader-elect");
  });

  it("two-shards runs two operators whose selectors share all Computes and whose pods differ", () => {
    const deployments = deploymentsOf(rendered["two-shards"]);
    const args = deployments.map(({ spec }) => spec.template.spec.containers[0].args);
    expect(args).toEqual([
      ["run", "--selector=compute-operator.dev/shard!=b", "--budget-share=0.5"],
      ["run", "--selector=compute-operator.dev/shard=b", "--budget-share=0.5"],
    ]);
    const shards = deployments.map(({ spec }) => spec.selector.matchLabels["compute-operator.dev/shard"]);
    expect(shards).toEqual(["a", "b"]);
    const podLabels = deployments.map(({ spec }) => spec.template.metadata.labels["compute-operator.dev/shard"]);
    expect(podLabels).toEqual(shards);
  });

  it("all but one-namespace install into the operator's own namespace", () => {
    for (const name of overlays.filter((overlay) => overlay !== "one-namespace")) {
      expect(only(rendered[name], "Namespace").metadata.name).toBe(installNamespace);
    }
  });
});
