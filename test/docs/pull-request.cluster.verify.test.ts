import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { startWithCrds } from "../control-plane/crds.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { OperatorProcess, ServiceProcess } from "../support/processes.ts";
import { blocksOf } from "./blocks.ts";
import { commandsFor } from "./commands.ts";
import { Shell } from "./shell.ts";

const Workflow = z.object({
  jobs: z.object({
    plan: z.object({ steps: z.array(z.object({ name: z.string().optional(), run: z.string().optional() })) }),
  }),
});

const page = "docs/gitops.md";

/** What a step of the page's workflow types. */
function step(name: string): string {
  const [workflow] = blocksOf(page, "yaml").flatMap((block) =>
    parseAllDocuments(block).flatMap((document) => Workflow.safeParse(document.toJS()).data ?? []),
  );
  const run = workflow?.jobs.plan.steps.find((each) => each.name === name)?.run;
  if (run === undefined) throw new Error(`the workflow of ${page} has no step ${name} that runs anything`);
  return run;
}

const clone = temporaryDirectory("pull-request");
let cluster: ControlPlane;
let service: ServiceProcess;
let operator: OperatorProcess;
let shell: Shell;

beforeAll(async () => {
  const seed = readFileSync("deploy/samples/service-seed.yaml", "utf8");
  [cluster, service] = await Promise.all([startWithCrds(), ServiceProcess.start({ seed, timeScale: 20 })]);
  const admin = cluster.admin;
  await kubectl(["apply", "-k", "deploy/base/shared"], admin);
  await kubectl(["apply", "-k", "deploy/samples"], admin);
  const connected = JSON.stringify({ spec: { baseURL: service.baseURL } });
  await kubectl(["patch", "sconn", "default", "-n", "shop", "--type=merge", "-p", connected], admin);
  await kubectl(["create", "clusterrolebinding", "ci", "--clusterrole=compute-operator-view", "--user=ci"], admin);
  const { kubeconfig } = cluster;
  const args = ["--fleet", "prod"];
  operator = await OperatorProcess.start({
    kubeconfig,
    allowedBaseURLs: [service.baseURL],
    namespaces: ["shop"],
    args,
  });
  // The pool first: with it all Computes are there.
  for (const each of ["computepool", "compute", "branch"])
    await kubectl(["wait", each, "--all", "-n", "shop", "--for=condition=Ready", "--timeout=120s"], admin);
  cpSync("deploy/samples", join(clone.path, "shop"), {
    recursive: true,
    filter: (file) => !file.endsWith("connection.yaml") && !file.endsWith("seed.yaml"),
  });
  // The connection is in the cluster, and applied elsewhere.
  const kustomization = join(clone.path, "shop", "kustomization.yaml");
  writeFileSync(kustomization, readFileSync(kustomization, "utf8").replace("  - connection.yaml\n", ""));
  const temp = join(clone.path, "temp");
  mkdirSync(temp);
  const own = await cluster.kubeconfigFor({ name: "ci" });
  const env = {
    RUNNER_TEMP: temp,
    KUBECONFIG: own,
    KUBECONFIG_TEXT: readFileSync(own, "utf8"),
    COMPUTE_OPERATOR_API_KEY: "org-key",
  };
  shell = new Shell({ kubectl: cluster.binaries.kubectl }, env, clone.path);
});

afterAll(async () => {
  shell?.[Symbol.dispose]();
  await operator?.[Symbol.asyncDispose]();
  await Promise.all([service?.[Symbol.asyncDispose](), cluster?.stop()]);
  clone.remove();
});

/** Types both steps, and resolves with the comment and the status of the job. `by`: how the operator is found. */
async function planned(by?: string): Promise<{ comment: string; failed: boolean }> {
  // The workflow is for the public service; here it is one of this machine.
  const usual = '--prune --kubeconfig "$RUNNER_TEMP/kubeconfig"';
  expect(step("Plan")).toContain(usual);
  const script = `set -e\n${step("Plan").replace(usual, by ?? usual)}`;
  const { status, output } = await shell.type(script.replace("plan -k", `plan --base-url ${service.baseURL} -k`));
  expect({ output, status }).toEqual({ output, status: 0 });
  const result = await shell.type(step("Result"));
  return { comment: readFileSync(join(clone.path, "temp", "plan.md"), "utf8"), failed: result.status !== 0 };
}

/** What the service has: ids, signatures and sizes. */
async function endpoints(): Promise<unknown> {
  const answer = await service.call("GET", "/projects/shiny-wind-028834/endpoints");
  const size = { autoscaling_limit_min_cu: z.number(), autoscaling_limit_max_cu: z.number() };
  const Endpoints = z.object({
    endpoints: z.array(z.object({ id: z.string(), name: z.string().optional(), ...size })),
  });
  return Endpoints.parse(answer).endpoints;
}

function edited(from: string, to: string): void {
  const file = join(clone.path, "shop", "computes.yaml");
  const text = readFileSync(file, "utf8");
  expect(text).toContain(from);
  writeFileSync(file, text.replace(from, to));
}

it("plan and apply beside a running operator, as docs/how-to.md types them, find its computes and send nothing", async () => {
  const lines = commandsFor("test/docs/pull-request.cluster.verify.test.ts").filter(({ place }) => place === "block");
  expect(lines.map(({ page: shownOn }) => shownOn)).toEqual(["docs/how-to.md", "docs/how-to.md"]);
  const before = await endpoints();
  for (const { text } of lines) {
    const line = text.replace("deploy/samples/", "shop/").replace(" -f", ` --base-url ${service.baseURL} -f`);
    const { status, output } = await shell.type(line);
    expect({ output, status }).toEqual({ output, status: 0 });
    expect(output).toContain("3 unchanged");
  }
  expect(await endpoints()).toEqual(before);
});

it("the workflow that shows in a pull request what it changes tells no change, a change and a mistake", async () => {
  expect(await planned()).toMatchObject({
    comment: expect.stringMatching(/^### Compute plan: \d+ unchanged$/m),
    failed: false,
  });
  expect(await planned("--fleet prod --no-cluster")).toMatchObject({
    comment: expect.stringMatching(/^### Compute plan: \d+ unchanged$/m),
    failed: false,
  });
  expect(await planned("--fleet other --no-cluster")).toMatchObject({
    comment: expect.stringContaining("kept by the operator of fleet #"),
    failed: true,
  });
  edited("max: 2", "max: 3");
  const byFleet = await planned("--fleet prod --no-cluster");
  expect(byFleet).toMatchObject({ comment: expect.stringContaining("1 to change"), failed: false });
  const changed = await planned();
  expect(changed).toMatchObject({ comment: expect.stringContaining("1 to change"), failed: false });
  expect(changed.comment).toContain("computeUnits.max");
  const left = join(clone.path, "shop", "kustomization.yaml");
  const complete = readFileSync(left, "utf8");
  writeFileSync(left, complete.replace("  - pool.yaml\n", ""));
  const pruned = await planned();
  expect(pruned).toMatchObject({ comment: expect.stringContaining("3 to delete"), failed: false });
  expect(pruned.comment).toContain("| ComputePool `shop/shop-readers` | delete |");
  writeFileSync(left, complete);
  edited("min: 0.25", "min: 4");
  const wrong = await planned();
  expect(wrong).toMatchObject({ comment: expect.stringContaining("must not be greater"), failed: true });
});
