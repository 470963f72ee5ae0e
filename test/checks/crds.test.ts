import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { generatedFiles } from "../../scripts/generated-files.ts";

const files = await generatedFiles();

test.each([...files])("%s is as its source has it (if not: npm run generate)", (path, content) => {
  expect(readFileSync(path, "utf8")).toBe(content);
});

test.each(["crds", "deploy/helm/compute-operator/files/crds"])("%s holds nothing but generated files", (directory) => {
  const generated = [...files.keys()].filter((path) => path.startsWith(`${directory}/`));
  const found = readdirSync(directory).map((name) => `${directory}/${name}`);
  expect(found.filter((path) => path !== "crds/kustomization.yaml").toSorted()).toEqual(generated.toSorted());
});

test("kubectl apply -k crds applies every definition", () => {
  const { resources }: { resources: string[] } = parse(readFileSync("crds/kustomization.yaml", "utf8"));
  const definitions = [...files.keys()].filter((path) => path.startsWith("crds/"));
  expect(resources.map((name) => `crds/${name}`).toSorted()).toEqual(definitions.toSorted());
});
