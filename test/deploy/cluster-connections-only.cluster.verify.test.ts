import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runKubectl } from "../control-plane/kubectl.ts";
import { eventually } from "../support/eventually.ts";
import { needsTools, runTool } from "../tools/tools.ts";
import { Installation } from "./installation.ts";
import { chart, helm, installNamespace } from "./render.ts";

needsTools("helm");

// Rights to API keys in the operator's own namespace alone, as the overlay gives them, and as the chart's value does.

const value = "rbac.secretsEverywhere=false";

const ways: Readonly<Record<string, (installation: Installation) => Promise<void>>> = {
  "overlays/cluster-connections-only": (installation) =>
    installation.install("deploy/overlays/cluster-connections-only"),
  [`the chart with ${value}`]: async (installation) => {
    const where = ["--namespace", installNamespace, "--create-namespace", "--kubeconfig"];
    const args = ["install", "compute-operator", chart, "--set", value, ...where, installation.cluster.kubeconfig];
    const { status, stderr } = await runTool("helm", args);
    if (status !== 0) throw new Error(stderr);
    await installation.startOperator(await helm(value));
  },
};

describe.each(Object.entries(ways))("%s", (_, install) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await Installation.start();
    await install(installation);
    await installation.kubectl("create", "namespace", "shop");
    await installation.apply(
      apiKey("fleet-key", installNamespace),
      apiKey("own-key", "shop"),
      {
        ...kind("ClusterServiceConnection", "fleet"),
        spec: {
          ...to(installation, "fleet-key"),
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "shop" } },
          allowedProjects: [projectID],
        },
      },
      { ...kind("ServiceConnection", "own", "shop"), spec: to(installation, "own-key") },
      compute("plain", { type: "read_only" }),
      compute("with-details", { branchID: "br-preview-1", connectionSecret: { name: "details" } }),
    );
  });
  afterAll(() => installation?.[Symbol.asyncDispose]());

  /** Reason and message of the condition Ready. */
  async function said(object: string): Promise<string> {
    const ready = '{.status.conditions[?(@.type=="Ready")]';
    return installation.kubectl("get", object, "-n", "shop", "-o", `jsonpath=${ready}.reason}: ${ready}.message}`);
  }

  it.each([
    ["list", installNamespace, "yes"],
    ["watch", installNamespace, "yes"],
    ["create", installNamespace, "no"],
    ["patch", installNamespace, "no"],
    ["list", "shop", "no"],
    ["create", "shop", "no"],
    ["list", "", "no"],
  ])("may %s Secrets in namespace '%s': %s", async (verb, namespace, answer) => {
    const place = namespace === "" ? ["-A"] : ["-n", namespace];
    const user = `--as=system:serviceaccount:${installNamespace}:compute-operator`;
    const { stdout } = await runKubectl(["auth", "can-i", verb, "secrets", ...place, user], installation.cluster.admin);
    expect(stdout.trim()).toBe(answer);
  });

  it("brings a Compute of a ClusterServiceConnection to Ready", async () => {
    await installation.ready("compute/plain");
    expect(await said("compute/plain")).toMatch(/^(Active|Idle): /);
  });

  it("says of connectionSecret what the operator may not do and what to do, and serves the Compute without it", async () => {
    await eventually(
      "the condition",
      async () => (await said("compute/with-details")).startsWith("Forbidden") || undefined,
    );
    expect(await said("compute/with-details")).toBe(
      "Forbidden: The operator has no right to Secrets in this namespace, so it cannot write the one that spec.connectionSecret names. Remove spec.connectionSecret, or have an administrator bind the operator's ClusterRole for Secrets.",
    );
    expect(await installation.kubectl("get", "secrets", "-n", "shop", "-o", "name")).not.toContain("details");
    const patch = JSON.stringify([{ op: "remove", path: "/spec/connectionSecret" }]);
    await installation.kubectl("patch", "compute/with-details", "-n", "shop", "--type=json", "-p", patch);
    await installation.ready("compute/with-details");
  });

  it("says of a ServiceConnection that its Secret cannot be read", async () => {
    await eventually("the condition", async () => (await said("sconn/own")).startsWith("NotAllowed") || undefined);
    expect(await said("sconn/own")).toContain("The operator may not read Secrets in this namespace.");
  });
});

const projectID = "shiny-wind-028834";

function kind(name: string, objectName: string, namespace?: string) {
  const metadata = { name: objectName, ...(namespace === undefined ? {} : { namespace }) };
  return { apiVersion: "compute-operator.dev/v1alpha1", kind: name, metadata };
}

function apiKey(name: string, namespace: string) {
  const stringData = { "api-key": "org-key" };
  const metadata = { name, namespace };
  return { apiVersion: "v1", kind: "Secret", metadata, type: "compute-operator.dev/api-key", stringData };
}

function to({ counter }: Installation, secret: string) {
  return { baseURL: counter.baseURL, apiKeySecretRef: { name: secret }, refreshInterval: "5s" };
}

function compute(name: string, spec: object) {
  const connectionRef = { kind: "ClusterServiceConnection", name: "fleet" };
  return {
    ...kind("Compute", name, "shop"),
    spec: { projectID, branchID: "br-aged-salad-637688", connectionRef, ...spec },
  };
}
