import { describe, expect, it } from "vitest";
import { z } from "zod";
import { needsTools } from "../tools/tools.ts";
import { type ChartCase, chartCases } from "./chart-cases.ts";
import { helm, type Rendered } from "./render.ts";

needsTools("helm");

/** What stands at the pointer of a case; undefined where there is no such object or no such field. */
function shownIn(objects: readonly Rendered[], { object, at }: ChartCase): unknown {
  const [kind, name] = object.split(" ");
  const found = objects.filter((each) => each.kind === kind && (name === undefined || each.metadata.name === name));
  if (found.length > 1) throw new Error(`there are several of ${object}`);
  const keys = at.split("/").slice(1);
  return keys.reduce<unknown>((value, key) => memberOf(value, key.replaceAll("~1", "/")), found[0]);
}

function memberOf(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.entries(value).find(([name]) => name === key)?.[1];
}

const rendered = new Map<string, Promise<Rendered[]>>();

/** What the chart renders without the value of a case. */
function withoutValue(given: readonly string[]): Promise<Rendered[]> {
  const key = given.join(" ");
  const objects = rendered.get(key) ?? helm(...given);
  rendered.set(key, objects);
  return objects;
}

describe("set in the chart", () => {
  it.each(Object.entries(chartCases))("%s changes what is rendered", async (path, each) => {
    const { set, given = [], is } = each;
    const value = `${path}=${JSON.stringify(set)}`;
    expect(shownIn(await withoutValue(given), each)).not.toEqual(is);
    expect(shownIn(await helm(...given, value), each)).toEqual(is);
  });
});

describe("the chart", () => {
  it("gives commonLabels to all objects but the CRDs, and to no selector", async () => {
    const all = ["serviceMonitor.enabled=true", "prometheusRule.enabled=true", "dashboards.enabled=true"];
    const [plain, labelled] = await Promise.all([helm(...all), helm(...all, 'commonLabels={"team":"shop"}')]);
    const lacking = labelled.filter(({ metadata }) => metadata.labels?.["team"] !== "shop");
    expect(new Set(lacking.map(({ kind }) => kind))).toEqual(new Set(["CustomResourceDefinition"]));
    const selectors = (objects: readonly Rendered[]) =>
      [...JSON.stringify(objects).matchAll(/"(?:selector|podSelector|labelSelector)":\{.*?\}/g)].map(([text]) => text);
    expect(selectors(plain).length).toBeGreaterThan(4);
    expect(selectors(labelled)).toEqual(selectors(plain));
  });

  it("lets a label of an object win over a common one", async () => {
    const objects = await helm(
      'commonLabels={"release":"ours"}',
      "serviceMonitor.enabled=true",
      'serviceMonitor.labels={"release":"prometheus"}',
      'podLabels={"release":"canary"}',
    );
    const labels = (object: string, at: string) => shownIn(objects, { object, at, set: undefined, is: undefined });
    expect(labels("ServiceMonitor", "/metadata/labels/release")).toBe("prometheus");
    expect(labels("Deployment", "/spec/template/metadata/labels/release")).toBe("canary");
    expect(labels("Deployment", "/metadata/labels/release")).toBe("ours");
  });

  it("finds the pods from a ServiceMonitor in another namespace", async () => {
    const objects = await helm("serviceMonitor.enabled=true", 'serviceMonitor.namespace="monitoring"');
    const selector = { object: "ServiceMonitor", at: "/spec/namespaceSelector", set: undefined, is: undefined };
    expect(shownIn(objects, selector)).toEqual({ matchNames: ["compute-operator-system"] });
  });

  it("reads the older names of values where the newer are not set", async () => {
    const older = await helm('operator.logLevel="debug"', "crds.install=false");
    const level = {
      object: "Deployment",
      at: "/spec/template/spec/containers/0/args/1",
      set: undefined,
      is: undefined,
    };
    expect(shownIn(older, level)).toBe("--log-level=debug");
    expect(shownIn(await helm('operator.logLevel="debug"', 'logLevel="warn"'), level)).toBe("--log-level=warn");
    expect(older.filter(({ kind }) => kind === "CustomResourceDefinition")).toEqual([]);
  });

  it("leaves an alert out, and changes no other", async () => {
    const rules = async (...values: string[]) => {
      const objects = await helm("prometheusRule.enabled=true", ...values);
      const all = shownIn(objects, { object: "PrometheusRule", at: "/spec/groups/0/rules", set: 0, is: 0 });
      return z.array(z.looseObject({ alert: z.string() })).parse(all);
    };
    const every = await rules();
    expect(every.length).toBeGreaterThan(15);
    const left = await rules('prometheusRule.disabled=["ComputesLost","ComputeOperatorDown"]');
    expect(left).toEqual(every.filter(({ alert }) => alert !== "ComputesLost" && alert !== "ComputeOperatorDown"));
  });

  it("refuses a strategy that would run two replicas without a lease", async () => {
    const without = ["leaderElection.enabled=false", "replicaCount=1"];
    await expect(helm(...without, 'updateStrategy={"type":"RollingUpdate"}')).rejects.toThrow(
      "without a lease the old",
    );
    const strategy = { object: "Deployment", at: "/spec/strategy/type", set: undefined, is: undefined };
    expect(shownIn(await helm(...without), strategy)).toBe("Recreate");
  });

  it("drops a key of a default that is set to null", async () => {
    const objects = await helm('podSecurityContext={"runAsNonRoot":null,"runAsUser":1000}');
    const context = { object: "Deployment", at: "/spec/template/spec/securityContext", set: undefined, is: undefined };
    expect(shownIn(objects, context)).toEqual({ runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } });
  });

  it.each([
    ["a common label that selects pods", 'commonLabels={"app.kubernetes.io/name":"other"}', "/commonLabels"],
    ["a label of pods that selects them", 'podLabels={"app.kubernetes.io/instance":"other"}', "/podLabels"],
    ["a misspelt field of the pod's security context", "podSecurityContext.runAsNonRot=true", "/podSecurityContext"],
    ["a misspelt field of the container's", "securityContext.readOnlyRootFileSystem=true", "/securityContext"],
    ["a volume without a name", 'extraVolumes=[{"emptyDir":{}}]', "/extraVolumes/0"],
    ["a time limit without a unit", 'serviceMonitor.scrapeTimeout="5"', "/serviceMonitor/scrapeTimeout"],
    ["a constraint without a topology", 'topologySpreadConstraints=[{"maxSkew":1}]', "/topologySpreadConstraints/0"],
    ["an alert that there is not", 'prometheusRule.disabled=["ComputeDown"]', "/prometheusRule/disabled/0"],
    ["a probe's path", 'probes.liveness={"httpGet":{"path":"/"}}', "/probes/liveness"],
    ["an unknown strategy", 'updateStrategy={"type":"OnDelete"}', "/updateStrategy/type"],
    ["a registry with a scheme", 'image.registry="https://registry.example.com"', "/image/registry"],
  ])("refuses %s", async (_, value, message) => {
    await expect(helm(value)).rejects.toThrow(message);
  });
});
