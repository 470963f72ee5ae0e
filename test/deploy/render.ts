import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { kubectl } from "../control-plane/shared-control-plane.ts";
import { runTool } from "../tools/tools.ts";

const rendered = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
});

/** An object as kustomize or Helm renders it. */
export type Rendered = z.output<typeof rendered>;

export const chart = "deploy/helm/compute-operator";
export const installNamespace = "compute-operator-system";

/** What `kubectl apply -k` would apply; `run` is a kubectl other than that of the control plane the tests share. */
export async function kustomize(
  directory: string,
  run: (args: readonly string[]) => Promise<string> = kubectl,
): Promise<Rendered[]> {
  return objectsOf(await run(["kustomize", directory]));
}

/** What `helm install` would apply, with the given `--set` arguments. Throws with Helm's message where it refuses. */
export async function helm(...values: string[]): Promise<Rendered[]> {
  const args = ["template", "compute-operator", chart, "--namespace", installNamespace];
  for (const value of values) args.push("--set-json", value);
  const { status, stdout, stderr } = await runTool("helm", args);
  if (status !== 0) throw new Error(stderr);
  // Hooks are applied by helm test alone.
  return objectsOf(stdout).filter(({ metadata }) => metadata.annotations?.["helm.sh/hook"] === undefined);
}

/** The objects of a file with several documents. */
export function objectsOf(yaml: string): Rendered[] {
  const documents = parseAllDocuments(yaml).map((document): unknown => document.toJS());
  return documents.filter((object) => object !== null).map((object) => rendered.parse(object));
}

/** The one object of a kind; throws where there is none or there are more. */
export function only(objects: readonly Rendered[], kind: string): Rendered {
  const [object, ...more] = objects.filter((candidate) => candidate.kind === kind);
  if (object === undefined || more.length > 0)
    throw new Error(`expected one ${kind}, found ${more.length + Number(!!object)}`);
  return object;
}

const deployment = z.looseObject({
  spec: z.looseObject({
    replicas: z.number(),
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.looseObject({
      metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }),
      spec: z.looseObject({
        containers: z.tuple([z.looseObject({ image: z.string(), args: z.array(z.string()) })]),
      }),
    }),
  }),
});

export type Deployment = z.output<typeof deployment>;

export function deploymentsOf(objects: readonly Rendered[]): Deployment[] {
  return objects.filter(({ kind }) => kind === "Deployment").map((object) => deployment.parse(object));
}

/** The operator's command line in the one Deployment. */
export function argsOf(objects: readonly Rendered[]): string[] {
  return deployment.parse(only(objects, "Deployment")).spec.template.spec.containers[0].args;
}
