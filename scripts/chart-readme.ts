import { readFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { chartValues } from "./chart-values.ts";

const chart = "deploy/helm/compute-operator";
const metadata = z.object({ name: z.string(), description: z.string(), version: z.string(), kubeVersion: z.string() });

/** The README of the Helm chart: how to install it, and its values as the comments of values.yaml describe them. */
export function chartReadme(): string {
  const { name, description, version, kubeVersion } = metadata.parse(
    parse(readFileSync(`${chart}/Chart.yaml`, "utf8")),
  );
  const install = `-n ${name}-system --create-namespace --set image.registry=registry.example.com`;
  const rows = chartValues().map((value) => `| \`${value.path}\` | ${shown(value.default)} | ${value.description} |`);
  return `# ${name}

<!-- from Chart.yaml and values.yaml by \`npm run generate\` -->

${description} Kubernetes ${kubeVersion.replace(/-0$/, "")}.

In a clone of the repository:

\`\`\`sh
helm install ${name} ${chart} ${install}
\`\`\`

To push the chart to a registry and install it from there:

\`\`\`sh
helm package ${chart}
helm push ${name}-${version}.tgz oci://registry.example.com/charts
helm install ${name} oci://registry.example.com/charts/${name} --version ${version} ${install}
\`\`\`

## Values

A value that the schema does not know is refused. To remove a key of a default, set it to \`null\`.

| value | default | |
| --- | --- | --- |
${rows.join("\n")}
`;
}

function shown(value: unknown): string {
  const text = stringify(value, { collectionStyle: "flow", lineWidth: 0, flowCollectionPadding: false }).trim();
  return `\`${text}\``;
}
