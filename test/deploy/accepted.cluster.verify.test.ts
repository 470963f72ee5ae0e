import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { z } from "zod";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { crdsServed } from "../control-plane/crds.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { needsTools, runTool } from "../tools/tools.ts";
import { helm, kustomize, type Rendered } from "./render.ts";
import { schemaLocation, writeSchemas } from "./schemas.ts";

needsTools("helm", "kubeconform");

const targets = [
  "deploy",
  "deploy/overlays/one-namespace",
  "deploy/overlays/some-namespaces",
  "deploy/overlays/high-availability",
  "deploy/overlays/development",
  "deploy/overlays/two-shards",
  "deploy/samples",
  "deploy/samples/guard-rails",
  "deploy/samples/retain",
  "deploy/samples/office-hours",
  "deploy/monitoring/kube-state-metrics",
] as const;

const list = z.object({
  items: z.array(
    z.object({
      kind: z.string(),
      metadata: z.object({ name: z.string(), namespace: z.string().optional(), resourceVersion: z.string() }),
    }),
  ),
});

describe("kubeconform, with the schemas of the API server, finds nothing wrong", () => {
  const schemas = temporaryDirectory("schemas");
  beforeAll(() => writeSchemas(schemas.path));
  afterAll(() => schemas.remove());

  const conform = (objects: readonly Rendered[]) => {
    const args = ["-strict", "-summary", "-schema-location", schemaLocation(schemas.path), "-"];
    return runTool(
      "kubeconform",
      args,
      objects.map((object) => stringify(object, { compat: "yaml-1.1" })).join("---\n"),
    );
  };

  it("in all that kustomize and Helm render", async () => {
    const rendered = await Promise.all([...targets.map((target) => kustomize(target)), helm()]);
    const { stdout, stderr } = await conform(rendered.flat());
    expect(`${stdout}${stderr}`).toContain(`Valid: ${rendered.flat().length}, Invalid: 0, Errors: 0, Skipped: 0`);
  });

  it("unless there is something", async () => {
    const [first, ...others] = await kustomize("deploy/samples");
    const wrong = { ...first, apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" }, misspelt: {} };
    expect((await conform([wrong, ...others])).stdout).toContain("additional properties 'misspelt' not allowed");
  });
});

describe("on an empty control plane", () => {
  let own: ControlPlane;
  beforeAll(async () => {
    own = await startControlPlane();
    await run("create", "namespace", "billing");
  });
  afterAll(() => own.stop());

  const run = (...args: string[]) => kubectl(args, own.admin);

  /** Applies `target` and gives each object's resourceVersion. */
  async function applied(target: string): Promise<Record<string, string>> {
    const printed: object = JSON.parse(await run("apply", "-k", target, "-o", "json"));
    // One object is printed without a list around it.
    const { items } = list.parse("items" in printed ? printed : { items: [printed] });
    return Object.fromEntries(
      items.map(({ kind, metadata }) => [
        `${kind} ${metadata.namespace ?? ""}/${metadata.name}`,
        metadata.resourceVersion,
      ]),
    );
  }

  it("kubectl apply -k crds, then the samples, is all that a Compute needs", async () => {
    await run("apply", "-k", "crds");
    await crdsServed(own.admin);
    expect(await run("apply", "-k", "deploy/samples")).toContain("compute.compute-operator.dev/shop-primary created");
  });

  it.each(targets)("kubectl apply -k %s is taken, and again without a change", async (target) => {
    // A binding cannot change its role: who goes from one overlay to another deletes it first.
    await run("delete", "rolebindings", "--all", "-n", "shop");
    const versions = await applied(target);
    expect(await applied(target)).toEqual(versions);
  });

  it("kubectl delete -k deploy/base leaves CRDs and Computes as they are", async () => {
    await run("delete", "-k", "deploy/base", "--wait=false");
    const left = await run("get", "computes", "-A", "-o", "jsonpath={.items[*].metadata.deletionTimestamp}");
    expect(left).toBe("");
    expect(await run("get", "computes", "-A", "-o", "name")).toContain("shop-primary");
  });
});
