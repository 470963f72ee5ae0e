import { readFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { crdYaml, customResourceDefinitions } from "../src/operator/resources/crd.ts";
import { templatesFromBase } from "./chart-from-base.ts";
import { chartReadme } from "./chart-readme.ts";
import { publicOperationsSource } from "./public-api.ts";
import { readmeWithStates } from "./readme.ts";
import { referenceDocument } from "./reference.ts";
import { serviceApiDocument } from "./service-api.ts";

const CHART = "deploy/helm/compute-operator";

/** Every file that is worked out from another, by path, with what it must hold. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const definition of customResourceDefinitions()) {
    const name = `${definition.spec.names.plural}.yaml`;
    files.set(`crds/${name}`, crdYaml(definition));
    // A chart can read no file outside of it.
    files.set(`${CHART}/files/crds/${name}`, crdYaml(keptByHelm(definition)));
  }
  const { spec }: { spec: unknown } = parse(readFileSync("deploy/monitoring/prometheus-rule.yaml", "utf8"));
  files.set(`${CHART}/files/rules.yaml`, stringify(spec, { lineWidth: 0 }));
  files.set(`${CHART}/files/dashboard.json`, readFileSync("deploy/monitoring/dashboard.json", "utf8"));
  for (const [path, template] of templatesFromBase()) files.set(path, template);
  files.set(`${CHART}/README.md`, chartReadme());
  files.set("deploy/argocd/argocd-cm.yaml", stringify(argocdConfig(), { lineWidth: 0 }));
  files.set("src/service/http/public-operations.ts", publicOperationsSource());
  files.set("docs/service-api.md", serviceApiDocument());
  files.set("docs/reference.md", await referenceDocument());
  files.set("README.md", readmeWithStates());
  return files;
}

/** Argo CD's own ConfigMap with the health script under the name of each kind. */
function argocdConfig() {
  const script = readFileSync("deploy/argocd/health.lua", "utf8");
  const keys = customResourceDefinitions().map(
    ({ spec }) => `resource.customizations.health.${spec.group}_${spec.names.kind}`,
  );
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "argocd-cm" },
    data: Object.fromEntries(keys.map((key) => [key, script])),
  };
}

/** Uninstalling the chart leaves the definition, and with it every Compute. */
function keptByHelm(definition: ReturnType<typeof customResourceDefinitions>[number]) {
  return { ...definition, metadata: { ...definition.metadata, annotations: { "helm.sh/resource-policy": "keep" } } };
}
