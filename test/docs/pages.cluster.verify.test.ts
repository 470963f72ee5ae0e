import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { crdsServed } from "../control-plane/crds.ts";
import { apply, kubectl } from "../control-plane/kubectl.ts";
import { definitionOf } from "../support/definition.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { ServiceProcess } from "../support/processes.ts";
import { needsTools, pathOf } from "../tools/tools.ts";
import { blocksOf } from "./blocks.ts";
import { commandsFor, filledIn, isMention, pages } from "./commands.ts";
import { Shell } from "./shell.ts";

needsTools("helm");

// What the documents type, typed: kubectl on one cluster, Helm on another, for the two would own the same objects.

const commands = commandsFor("test/docs/pages.cluster.verify.test.ts").map(({ page, text }) => ({
  page,
  text,
  line: filledIn(text),
}));
const deletes = (line: string) => line.startsWith("kubectl delete ") && !isMention(line);
/** The status that a line ends with where it does what it should: `plan` tells by it that there are changes. */
const statusOf = (line: string) => (line.includes("compute-operator plan") ? 2 : 0);

let clusters: readonly ControlPlane[] = [];
let service: ServiceProcess;
let shells: { kubectl: Shell; helm: Shell };

beforeAll(async () => {
  const seed = readFileSync("deploy/samples/service-seed.yaml", "utf8");
  const [first, second, running] = await Promise.all([
    startControlPlane(),
    startControlPlane(),
    ServiceProcess.start({ seed }),
  ]);
  clusters = [first, second];
  service = running;
  await first.startControllerManager();
  shells = { kubectl: await shellOn(first), helm: await shellOn(second) };
  await kindsOfOthers(first);
  for (const directory of ["deploy", "deploy/samples"]) {
    const { status, output } = await shells.kubectl.type(`kubectl apply -k ${directory}`);
    if (status !== 0) throw new Error(output);
    // A kind is served a moment after its CRD is stored, and described a moment later.
    await crdsServed(first.admin);
  }
  await eventually("the kinds to be described", () => kubectl(["explain", "compute.spec"], first.admin));
  // The service of the samples listens on its usual port; here it is any free one.
  const connected = JSON.stringify({ spec: { baseURL: service.baseURL } });
  await kubectl(["patch", "sconn", "default", "-n", "shop", "--type=merge", "-p", connected], first.admin);
});

afterAll(async () => {
  shells?.kubectl[Symbol.dispose]();
  shells?.helm[Symbol.dispose]();
  await Promise.all([service?.[Symbol.asyncDispose](), ...clusters.map((cluster) => cluster.stop())]);
});

/** A shell whose kubectl and helm speak to this cluster, in the namespace of the samples. */
async function shellOn(cluster: ControlPlane): Promise<Shell> {
  const own = join(dirname(cluster.kubeconfig), "documents.yaml");
  copyFileSync(cluster.kubeconfig, own);
  const at = { ...cluster.admin, kubeconfig: own };
  await kubectl(["config", "set-context", "--current", "--namespace=shop"], at);
  return new Shell({ kubectl: cluster.binaries.kubectl, helm: pathOf("helm") }, { KUBECONFIG: own });
}

/** By group, plural and version: kinds that the pages show and that their readers have installed. */
const others = [
  { group: "monitoring.coreos.com", plural: "prometheusrules", kind: "PrometheusRule", version: "v1" },
  { group: "monitoring.coreos.com", plural: "servicemonitors", kind: "ServiceMonitor", version: "v1" },
  { group: "source.toolkit.fluxcd.io", plural: "gitrepositories", kind: "GitRepository", version: "v1" },
  { group: "kustomize.toolkit.fluxcd.io", plural: "kustomizations", kind: "Kustomization", version: "v1" },
  { group: "external-secrets.io", plural: "externalsecrets", kind: "ExternalSecret", version: "v1" },
  { group: "argoproj.io", plural: "applications", kind: "Application", version: "v1alpha1" },
] as const;

/** The kinds of the Prometheus Operator, Flux and Argo CD, and the namespaces that they are used in. */
async function kindsOfOthers(cluster: ControlPlane): Promise<void> {
  const definitions = others.map((each) =>
    definitionOf(each, { type: "object", "x-kubernetes-preserve-unknown-fields": true }),
  );
  const namespaces = ["flux-system", "argocd", "apps"].map((name) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name },
  }));
  const items = [...definitions, ...namespaces];
  await apply(items, cluster.admin);
  await crdsServed(cluster.admin);
}

/**
 * Applies again what this line deleted: undefined while a part of it is still on its way out, which kubectl does not
 * wait for where the namespace took it along. Each look applies all of it, which takes seconds beside other work.
 */
async function isBack(deletion: string): Promise<true | undefined> {
  const again = await shells.kubectl.type(deletion.replace("kubectl delete", "kubectl apply"));
  if (again.status !== 0 && !again.output.includes("is being terminated")) throw new Error(again.output);
  // A definition that is on its way out is taken as it is, and gone a moment later.
  const leaving = await shells.kubectl.type("kubectl get crds -o jsonpath='{.items[*].metadata.deletionTimestamp}'");
  if (again.status !== 0 || leaving.output !== "") return undefined;
  // A definition that goes before the API server has made its storage can stay for minutes.
  const kinds = "branches,clusterserviceconnections,computepools,computes,serviceconnections";
  const served = await shells.kubectl.type(`kubectl get ${kinds}`);
  if (served.status !== 0) throw new Error(served.output);
  return true;
}

describe("of what the documents type", () => {
  it.each(commands.filter(({ line }) => isMention(line)))("$text ($page) is a command", async ({ line }) => {
    expect(await shells.kubectl.type(`${line} --help`)).toMatchObject({ status: 0 });
  });

  it.each(commands.filter(({ line }) => line.startsWith("kubectl ") && !isMention(line) && !deletes(line)))(
    "$text ($page) works",
    async ({ line }) => {
      const { status, output } = await shells.kubectl.type(line);
      expect({ output, status }).toEqual({ output, status: statusOf(line) });
      expect(output).not.toBe("");
    },
  );

  it.each(commands.filter(({ line }) => line.startsWith("helm ") && !isMention(line)))(
    "$text ($page) works",
    async ({ line }) => {
      const { status, output } = await shells.helm.type(line);
      expect({ output, status }).toEqual({ output, status: 0 });
    },
  );

  it.each(commands.filter(({ line }) => deletes(line)))(
    "$text ($page) deletes, and what it deleted can be applied again",
    async ({ line }) => {
      const { output } = await shells.kubectl.type(line);
      // The namespace, which goes first, may have taken it along.
      const complaints = output.split("\n").filter((said) => /error/i.test(said) && !said.includes("(NotFound)"));
      expect({ output, complaints }).toEqual({ output, complaints: [] });
      expect(output).toContain("deleted");
      await eventually("what was deleted to be there again", () => isBack(line));
    },
  );
});

/** What one line says is set together. */
const values = readFileSync("docs/install.md", "utf8")
  .split("\n")
  .map((line) => [...line.matchAll(/`([a-z][\w.]+=[^` ]+)`/g)].map(([, value]) => `--set '${value}'`).join(" "))
  .filter((set) => set !== "");

it.each(values)("the chart takes %s of docs/install.md", async (set) => {
  const { status, output } = await shells.helm.type(`helm template x deploy/helm/compute-operator ${set}`);
  expect({ output, status }).toEqual({ output, status: 0 });
});

const isKustomization = (manifest: string) => /^apiVersion: kustomize\.config\.k8s\.io\//m.test(manifest);
const blocks = pages
  .filter((page) => page !== "README.md")
  .flatMap((page) => blocksOf(page, "yaml").map((manifest) => ({ page, manifest })))
  .filter(({ manifest }) => /^kind:/m.test(manifest));

it("every manifest of the documents is taken by the API server", async () => {
  const [cluster] = clusters;
  if (cluster === undefined) throw new Error("there is no cluster");
  for (const { manifest } of blocks) {
    if (isKustomization(manifest)) continue;
    const applied = await kubectl(["apply", "--dry-run=server", "-f", "-"], { ...cluster.admin, input: manifest });
    expect(applied).toContain("(server dry run)");
  }
});

it.each(blocks.filter(({ manifest }) => isKustomization(manifest)))(
  "the kustomization of $page, beside a clone, names the image and passes the flag",
  async ({ manifest }) => {
    const { path, remove } = temporaryDirectory("kustomization");
    symlinkSync(process.cwd(), join(path, "compute-operator"));
    writeFileSync(join(path, "kustomization.yaml"), manifest);
    const { status, output } = await shells.kubectl.type(`kubectl kustomize ${path}`);
    remove();
    expect({ output, status }).toEqual({ output, status: 0 });
    expect(output).toMatch(/image: registry.example.com\/compute-operator:[0-9.]+$/m);
    expect(output).toContain("- --allowed-base-url=https://*.example.com/api/v2");
  },
);
