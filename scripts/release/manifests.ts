import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { findBinaries } from "../../test/control-plane/binaries.ts";
import type { Making } from "./making.ts";
import type { Run } from "./programs.ts";

/** Writes all of `deploy` into one file, with the image of the registry. */
export async function makeManifests({ output, staging, commit, registry, version }: Making, run: Run): Promise<string> {
  mkdirSync(staging, { recursive: true });
  const kustomization = {
    resources: [relative(staging, "deploy")],
    images: [{ name: "compute-operator", newName: `${registry}/compute-operator`, newTag: version }],
  };
  writeFileSync(join(staging, "kustomization.yaml"), stringify(kustomization));
  const built = await kustomized(staging, run);
  rmSync(staging, { recursive: true });
  // Written again, so that the bytes do not depend on which kustomize built it.
  const documents = parseAllDocuments(built).map((document) => stringify(document.toJS(), { lineWidth: 0 }));
  const head = [
    `# compute-operator ${version}, commit ${commit.id}: CRDs, namespace, rights and two replicas.`,
    "# kubectl apply -f install.yaml",
  ];
  writeFileSync(join(output, "install.yaml"), `${head.join("\n")}\n---\n${documents.join("---\n")}`);
  return "install.yaml";
}

/** Builds a kustomization by the first program that is there; else by the kubectl of the tests' control plane. */
async function kustomized(directory: string, run: Run): Promise<string> {
  const ended =
    (await run("kustomize", ["build", directory])) ??
    (await run("kubectl", ["kustomize", directory])) ??
    (await run((await findBinaries()).kubectl, ["kustomize", directory]));
  if (ended?.status === 0) return ended.stdout;
  throw new Error(`kustomize cannot build deploy: ${ended?.stderr.trim() ?? "none is there"}`);
}
