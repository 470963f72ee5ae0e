import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { computeStatus } from "../../src/operator/resources/compute-status.ts";
import { definitions } from "../../src/operator/resources/crd-definitions.ts";
import { apply, kubeconfig, kubectl, tryKubectl } from "../control-plane/shared-control-plane.ts";
import { main, preview, project } from "../integration/support/seeded-service.ts";
import { useStage } from "../integration/support/use-stage.ts";
import { Child } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { freePorts } from "../support/ports.ts";
import { needsTools, pathOf } from "../tools/tools.ts";
import { kustomize, only } from "./render.ts";

// The real kube-state-metrics with the configuration and the rights of deploy/monitoring/kube-state-metrics, beside the
// operator on the real API server.

needsTools("kube-state-metrics");

const directory = "deploy/monitoring/kube-state-metrics";
const files = temporaryDirectory("kube-state-metrics");
const stage = useStage();
let exporter: Child;
let url = "";

const gvk = z.object({
  groupVersionKind: z.object({ kind: z.string() }),
  metrics: z.array(z.looseObject({ name: z.string() })),
});
const stateSet = z.object({ each: z.object({ stateSet: z.object({ list: z.array(z.string()) }) }) });
const configuration = z.object({ spec: z.object({ resources: z.array(gvk) }) });
const kubeConfig = z.looseObject({ users: z.array(z.looseObject({ name: z.string(), user: z.unknown() })) });

/** A kubeconfig for the ServiceAccount that the binding names, with a token of its own. */
async function kubeconfigOfExporter(): Promise<string> {
  const account = ["kube-state-metrics", "-n", "kube-system"];
  await kubectl(["create", "serviceaccount", ...account]);
  const token = (await kubectl(["create", "token", ...account, "--duration=1h"])).trim();
  const admin = kubeConfig.parse(parse(readFileSync(kubeconfig(), "utf8")));
  const file = join(files.path, "kubeconfig");
  writeFileSync(file, stringify({ ...admin, users: admin.users.map(({ name }) => ({ name, user: { token } })) }));
  return file;
}

/** What the ConfigMap of the kustomization holds, as a file. */
async function configurationFile(): Promise<string> {
  const { data } = z
    .object({ data: z.record(z.string(), z.string()) })
    .parse(only(await kustomize(directory), "ConfigMap"));
  const file = join(files.path, "custom-resource-state.yaml");
  writeFileSync(file, data["custom-resource-state.yaml"] ?? "");
  return file;
}

beforeAll(async () => {
  const [port = 0, telemetryPort = 0] = await freePorts(2);
  url = `http://127.0.0.1:${port}/metrics`;
  await kubectl(["apply", "-k", directory]);
  exporter = await Child.start({
    name: "kube-state-metrics",
    command: pathOf("kube-state-metrics"),
    args: [
      `--kubeconfig=${await kubeconfigOfExporter()}`,
      `--custom-resource-state-config-file=${await configurationFile()}`,
      "--custom-resource-state-only",
      `--port=${port}`,
      `--telemetry-port=${telemetryPort}`,
    ],
  });
});
afterAll(async () => {
  await exporter?.kill();
  await kubectl(["delete", "-k", directory, "--ignore-not-found"]);
  await kubectl(["delete", "serviceaccount", "kube-state-metrics", "-n", "kube-system", "--ignore-not-found"]);
  files.remove();
});

/** The series of one object, e.g. `kube_compute_state{state="Idle"}` → 1, without the labels that all of them have. */
async function seriesOf(labels: { namespace?: string; name: string }): Promise<Record<string, number>> {
  const text = await (await fetch(url)).text();
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  const found: Record<string, number> = {};
  for (const [, metric = "", all = "", value] of text.matchAll(/^(kube_\w+)\{(.*)\} (\S+)$/gm)) {
    const pairs = [...all.matchAll(/\w+="(?:[^"\\]|\\.)*"/g)].map(([pair]) => pair);
    if (!wanted.every((pair) => pairs.includes(pair))) continue;
    const own = pairs.filter((pair) => !wanted.includes(pair) && !pair.startsWith("customresource_"));
    found[`${metric}{${own.toSorted().join(",")}}`] = Number(value);
  }
  return found;
}

/** The state that is 1, where exactly one is. */
function stateIn(series: Record<string, number>): string | undefined {
  const states = Object.entries(series).filter(
    ([name, value]) => name.startsWith("kube_compute_state{") && value === 1,
  );
  return states.length === 1 ? /"(\w+)"/.exec(states[0]?.[0] ?? "")?.[1] : undefined;
}

describe("kube-state-metrics", () => {
  it("shows what a Compute is, its state, size and conditions, and follows them to the end", async () => {
    const shop = await stage().scenario();
    const { namespace } = shop;
    await shop.compute("primary", { computeUnits: { min: 0.5, max: 2 } });
    const { metadata, status } = await shop.ready("primary");
    const of = () => seriesOf({ namespace, name: "primary" });
    const series = await eventually("the state of a Compute that is ready", async () => {
      const now = await of();
      return now[`kube_compute_condition{reason="${status.conditions?.[0]?.reason}",status="True",type="Ready"}`] === 1
        ? now
        : undefined;
    });
    expect(stateIn(series)).toBe(status.state);
    const info = Object.keys(series).find((name) => name.startsWith("kube_compute_info{"));
    for (const label of [
      'connection="default"',
      `project_id="${project}"`,
      `branch_id="${status.branchID}"`,
      `endpoint_id="${status.endpointID}"`,
      'type="read_write"',
      `uid="${metadata.uid}"`,
    ]) {
      expect(info).toContain(label);
    }
    expect(series).toMatchObject({
      "kube_compute_status_compute_units_min{}": 0.5,
      "kube_compute_status_compute_units_max{}": 2,
      "kube_compute_metadata_generation{}": 1,
      "kube_compute_status_observed_generation{}": 1,
      "kube_compute_status_applied_generation{}": 1,
      "kube_compute_created{}": Date.parse(metadata.creationTimestamp ?? "") / 1000,
    });
    await shop.edit("primary", { disabled: true });
    await eventually("the state Disabled", async () => stateIn(await of()) === "Disabled" || undefined);
    await shop.cluster.delete("Compute", namespace, "primary");
    await shop.gone("primary");
    await eventually("its series to go", async () => Object.keys(await of()).length === 0 || undefined);
  });

  it("shows drift that is only reported, by field, and a Compute that is not ready with its reason", async () => {
    const shop = await stage().scenario();
    await shop.compute("drifting", { driftPolicy: "Report", computeUnits: { min: 1, max: 1 } });
    const { status } = await shop.ready("drifting");
    shop.console("PATCH", `/projects/${project}/endpoints/${status.endpointID}`, {
      endpoint: { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 },
    });
    await shop.reason("drifting", "Drifted");
    await eventually("the drift", async () => {
      const series = await seriesOf({ namespace: shop.namespace, name: "drifting" });
      return series['kube_compute_status_drift{field="computeUnits.max"}'];
    });
    await shop.compute("rival", { branchID: main });
    await shop.compute("second", { branchID: main });
    await shop.reason("second", "Conflict");
    const refused = { 'kube_compute_condition{reason="Conflict",status="False",type="Ready"}': 0 };
    await expect.poll(() => seriesOf({ namespace: shop.namespace, name: "second" })).toMatchObject(refused);
  });

  it("shows a pool's replicas and a connection's condition and projects", async () => {
    const shop = await stage().scenario();
    const { namespace } = shop;
    await shop.cluster.create("ComputePool", namespace, {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ComputePool",
      metadata: { name: "readers" },
      spec: { replicas: 2, template: { projectID: project, branchID: preview } },
    });
    await eventually("both replicas", async () => {
      const series = await seriesOf({ namespace, name: "readers" });
      return series["kube_computepool_status_replicas_ready{}"] === 2 ? series : undefined;
    }).then((series) =>
      expect(series).toMatchObject({
        "kube_computepool_spec_replicas{}": 2,
        "kube_computepool_status_replicas{}": 2,
      }),
    );
    await eventually("the connection", async () => {
      const series = await seriesOf({ namespace, name: "default" });
      return series['kube_serviceconnection_condition{reason="Authenticated",status="True",type="Ready"}'] === 1 &&
        (series["kube_serviceconnection_status_projects{}"] ?? 0) > 0
        ? true
        : undefined;
    });
  });

  it("shows a ClusterServiceConnection, which has no namespace", async () => {
    const name = "of-exporter";
    await apply([
      {
        apiVersion: "compute-operator.dev/v1alpha1",
        kind: "ClusterServiceConnection",
        metadata: { name },
        spec: {
          baseURL: "http://nowhere.test/api/v2",
          apiKeySecretRef: { name: "key" },
          namespaceSelector: { matchLabels: { fleet: "none" } },
          allowedProjects: ["*"],
        },
      },
    ]);
    const lastTransitionTime = "2026-01-02T03:04:05Z";
    const condition = { type: "Ready", status: "False", reason: "SecretNotFound", message: "…", lastTransitionTime };
    const status = { conditions: [condition], orphanedEndpointCount: 3 };
    await kubectl(["patch", "csconn", name, "--subresource=status", "--type=merge", "-p", JSON.stringify({ status })]);
    try {
      const series = await eventually("its series", async () => {
        const found = await seriesOf({ name });
        return found["kube_clusterserviceconnection_status_orphaned_endpoints{}"] === undefined ? undefined : found;
      });
      expect(series).toMatchObject({
        'kube_clusterserviceconnection_condition{reason="SecretNotFound",status="False",type="Ready"}': 0,
        'kube_clusterserviceconnection_condition_last_transition_time{type="Ready"}':
          Date.parse(lastTransitionTime) / 1000,
        "kube_clusterserviceconnection_status_orphaned_endpoints{}": 3,
      });
    } finally {
      await kubectl(["delete", "csconn", name]);
    }
  });

  it("kube-state-metrics is configured for every kind of the operator and every state of a Compute", () => {
    const { spec } = configuration.parse(parse(readFileSync(join(directory, "custom-resource-state.yaml"), "utf8")));
    const kinds = spec.resources.map(({ groupVersionKind }) => groupVersionKind.kind);
    expect(kinds.toSorted()).toEqual(definitions.map(({ kind }) => kind.kind).toSorted());
    const { state } = z.object({ state: stateSet }).parse(Object.fromEntries(namedMetrics(spec.resources[0]?.metrics)));
    const [described = ""] = (computeStatus.shape.state.description ?? "").split(". ");
    expect(state.each.stateSet.list.toSorted()).toEqual(
      [...described.matchAll(/(?<!^)\b[A-Z]\w+/g)].map(([word]) => word).toSorted(),
    );
  });

  it("labels a Compute and a Branch with what the operator may do for it", async () => {
    const shop = await stage().scenario();
    const { namespace } = shop;
    const adopt = { branchPrimary: true };
    await shop.compute("watched", { branchID: main, adopt, managementPolicy: "Observe" });
    const info = await eventually("its series", async () =>
      Object.keys(await seriesOf({ namespace, name: "watched" })).find((name) => name.startsWith("kube_compute_info{")),
    );
    expect(info).toContain('management_policy="Observe"');
    const { spec } = configuration.parse(parse(readFileSync(join(directory, "custom-resource-state.yaml"), "utf8")));
    const labelled = spec.resources.filter((one) => JSON.stringify(one).includes('["spec","managementPolicy"]'));
    expect(labelled.map(({ groupVersionKind }) => groupVersionKind.kind)).toEqual(["Compute", "Branch"]);
  });

  it("may read all that it needs, and no Secret", async () => {
    expect(exporter.lines.filter((line) => /forbidden|unauthorized/i.test(line))).toEqual([]);
    const asked = [
      "auth",
      "can-i",
      "list",
      "secrets",
      "-A",
      "--as=system:serviceaccount:kube-system:kube-state-metrics",
    ];
    expect((await tryKubectl(asked)).stdout.trim()).toBe("no");
  });
});

function namedMetrics(metrics: readonly { name: string }[] = []): [string, unknown][] {
  return metrics.map((metric) => [metric.name, metric]);
}
