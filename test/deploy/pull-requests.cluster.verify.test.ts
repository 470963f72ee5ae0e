import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { z } from "zod";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { startWithCrds } from "../control-plane/crds.ts";
import { type KubectlOptions, kubectl } from "../control-plane/kubectl.ts";
import { Shell } from "../docs/shell.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { OperatorProcess, ServiceProcess } from "../support/processes.ts";

const samples = "deploy/samples/pull-requests";
const read = (file: string) => readFileSync(join(samples, file), "utf8");
const scratch = temporaryDirectory("pull-requests");

let cluster: ControlPlane;
let service: ServiceProcess;
let operator: OperatorProcess;
let admin: KubectlOptions;

beforeAll(async () => {
  const seed = readFileSync("deploy/samples/service-seed.yaml", "utf8");
  [cluster, service] = await Promise.all([startWithCrds(), ServiceProcess.start({ seed, timeScale: 20 })]);
  admin = cluster.admin;
  for (const file of ["namespace.yaml", "connection.yaml"])
    await kubectl(["apply", "-f", `deploy/samples/${file}`], admin);
  const connected = JSON.stringify({ spec: { baseURL: service.baseURL, refreshInterval: "5s" } });
  await kubectl(["patch", "sconn", "default", "-n", "shop", "--type=merge", "-p", connected], admin);
  operator = await OperatorProcess.start({ kubeconfig: cluster.kubeconfig, allowedBaseURLs: [service.baseURL] });
});

afterAll(async () => {
  await operator?.[Symbol.asyncDispose]();
  await Promise.all([service?.[Symbol.asyncDispose](), cluster?.stop()]);
  scratch.remove();
});

/** The names of the service's branches. */
async function branches(): Promise<string[]> {
  const Branches = z.object({ branches: z.array(z.object({ name: z.string() })) });
  return Branches.parse(await service.call("GET", "/projects/shiny-wind-028834/branches")).branches.map(
    ({ name }) => name,
  );
}

const isReady = (name: string) => [
  "wait",
  `brn/${name}`,
  `compute/${name}`,
  "-n",
  "shop",
  "--for=condition=Ready",
  "--timeout=60s",
];

/** The manifests that Argo CD makes for a pull request: kustomize with what the ApplicationSet's template adds. */
async function renderedByArgoCD(number: number): Promise<string> {
  const text = read("applicationset.yaml").replaceAll("{{.number}}", String(number));
  const Kustomize = z.object({ nameSuffix: z.string(), patches: z.array(z.unknown()) });
  const Source = z.object({ path: z.string(), kustomize: Kustomize });
  const Spec = z.object({ template: z.object({ spec: z.object({ source: Source }) }) });
  const { source } = z.object({ spec: Spec }).parse(parse(text)).spec.template.spec;
  const directory = join(scratch.path, `argo-${number}`);
  cpSync(source.path, join(directory, "base"), { recursive: true });
  writeFileSync(join(directory, "kustomization.yaml"), stringify({ resources: ["base"], ...source.kustomize }));
  return kubectl(["kustomize", directory], admin);
}

describe("the samples for pull requests", () => {
  it("as Argo CD renders its ApplicationSet, come to a database and go with the pull request", async () => {
    const [rendered, other] = [await renderedByArgoCD(7), await renderedByArgoCD(8)];
    expect(rendered.replaceAll(/\b7\b/g, "8")).toBe(other);
    await kubectl(["apply", "-f", "-"], { ...admin, input: rendered });
    await kubectl(isReady("pr-7"), admin);
    expect(await branches()).toContain("preview/pr-7");
    await kubectl(["get", "secret", "pr-7-db", "-n", "shop"], admin);
    await kubectl(["delete", "-f", "-", "--timeout=90s"], { ...admin, input: rendered });
    expect(await branches()).not.toContain("preview/pr-7");
  });

  it("have a Job that waits until branch and compute are ready, with no more rights than it needs", async () => {
    const rendered = await renderedByArgoCD(9);
    const [job] = parseAllDocuments(rendered).flatMap((document) => Job.safeParse(document.toJS()).data ?? []);
    if (job === undefined) throw new Error("no Job is rendered");
    const { initContainers, containers, serviceAccountName } = job.spec.template.spec;
    expect(containers[0]?.env[0]?.valueFrom.secretKeyRef).toEqual({ name: "pr-9-db", key: "uri" });
    const account = { name: `system:serviceaccount:shop:${serviceAccountName}`, groups: ["system:serviceaccounts"] };
    const own = { ...admin, kubeconfig: await cluster.kubeconfigFor(account) };
    await kubectl(["apply", "-f", "-"], { ...admin, input: rendered });
    const args = initContainers[0]?.args ?? [];
    expect(args[0]).toBe("wait");
    // The container starts some seconds after its Job is stored, as here: then the objects are there.
    await eventually("the owned Compute", () => kubectl(["get", "compute", "pr-9", "-n", "shop"], own));
    const waited = await kubectl(args, own);
    expect(waited).toContain("branch.compute-operator.dev/pr-9 condition met");
    expect(waited).toContain("compute.compute-operator.dev/pr-9 condition met");
    await expect(kubectl(["get", "secret", "-n", "shop"], own)).rejects.toThrow(/forbidden/i);
    await kubectl(["delete", "-f", "-", "--timeout=90s"], { ...admin, input: rendered });
  });

  it("as Flux renders its ResourceSet, come to a database and go with the pull request", async () => {
    const text = read("resourceset.yaml").replaceAll("<< inputs.id >>", "5");
    const Set = z.object({ kind: z.literal("ResourceSet"), spec: z.object({ resources: z.array(z.unknown()) }) });
    const [set] = parseAllDocuments(text).flatMap((document) => Set.safeParse(document.toJS()).data ?? []);
    const input = (set?.spec.resources ?? []).map((resource) => stringify(resource)).join("---\n");
    await kubectl(["apply", "-f", "-"], { ...admin, input });
    await kubectl(isReady("pr-5"), admin);
    expect(await branches()).toContain("preview/pr-5");
    await kubectl(["delete", "-f", "-", "--timeout=90s"], { ...admin, input });
    expect(await branches()).not.toContain("preview/pr-5");
  });

  it("as the workflow runs without a cluster, follow the open pull requests and stop at a list that is too short", async () => {
    using clone = new Clone();
    clone.open(1, 2, 3, 4, 5, 6, 7);
    expect(await clone.run("Render", "Plan", "Result", "Apply")).toMatchObject({ status: 0 });
    expect(clone.comment).toContain("| Branch `previews/pr-7` | create |");
    expect(await branches()).toEqual(expect.arrayContaining(["preview/pr-1", "preview/pr-7"]));
    clone.open(1, 2, 3, 4, 5, 6);
    expect(await clone.run("Render", "Plan", "Result", "Apply")).toMatchObject({ status: 0 });
    expect(clone.comment).toMatch(/\| Branch `previews\/pr-7` \| delete \| .*its data and computes are deleted/);
    expect(await branches()).not.toContain("preview/pr-7");
    clone.open();
    const stopped = await clone.run("Render", "Apply");
    expect(stopped).toMatchObject({ status: 1, output: expect.stringContaining("and --max-deletes is 5") });
    expect((await branches()).filter((name) => name.startsWith("preview/pr-"))).toHaveLength(6);
    expect(await branches()).toContain("main");
  });
});

const Container = z.object({ args: z.array(z.string()).default([]) });
const Variable = z.object({ valueFrom: z.object({ secretKeyRef: z.object({ name: z.string(), key: z.string() }) }) });
const Pod = z.object({
  serviceAccountName: z.string(),
  initContainers: z.array(Container),
  containers: z.array(z.object({ env: z.array(Variable) })),
});
const Job = z.object({ kind: z.literal("Job"), spec: z.object({ template: z.object({ spec: Pod }) }) });

const Step = z.object({ name: z.string().optional(), run: z.string().optional() });
const Workflow = z.object({ jobs: z.object({ databases: z.object({ steps: z.array(Step) }) }) });

/** A clone in which the steps of the workflow run, and a `gh` that lists the pull requests which are open. */
class Clone implements Disposable {
  readonly #path = join(scratch.path, "clone");
  readonly #temp = join(scratch.path, "temp");
  readonly #shell: Shell;

  constructor() {
    mkdirSync(this.#temp, { recursive: true });
    cpSync(join(samples, "templates"), join(this.#path, "previews"), { recursive: true });
    const gh = join(scratch.path, "gh");
    writeFileSync(gh, `#!/bin/sh\ncat '${this.#temp}/open'\n`, { mode: 0o755 });
    const env = { RUNNER_TEMP: this.#temp, BASE_URL: service.baseURL, COMPUTE_OPERATOR_API_KEY: "org-key" };
    this.#shell = new Shell({ gh }, env, this.#path);
  }

  /** Sets which pull requests are open; each run has a file system of its own. */
  open(...numbers: readonly number[]): void {
    writeFileSync(join(this.#temp, "open"), numbers.map((number) => `${number}\n`).join(""));
  }

  get comment(): string {
    return readFileSync(join(this.#temp, "plan.md"), "utf8");
  }

  async run(...names: readonly string[]) {
    const { steps } = Workflow.parse(parse(read("workflow.yaml"))).jobs.databases;
    const scripts = names.map((name) => steps.find((step) => step.name === name)?.run ?? `no step ${name}`);
    const { status, output } = await this.#shell.type(`rm -rf "$RUNNER_TEMP/previews"; set -e\n${scripts.join("\n")}`);
    return { status, output };
  }

  [Symbol.dispose](): void {
    this.#shell[Symbol.dispose]();
  }
}
