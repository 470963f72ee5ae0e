import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { crdYaml, customResourceDefinitions } from "../../src/operator/resources/crd.ts";

const fileOf = (name: string): string => `${name.split(".")[0]}.yaml`;

test.each(customResourceDefinitions())(
  "crds/ holds $metadata.name as the schemas have it (if not: node scripts/write-crds.ts)",
  (definition) => {
    expect(readFileSync(`crds/${fileOf(definition.metadata.name)}`, "utf8")).toBe(crdYaml(definition));
  },
);

test("kubectl apply -k crds applies every file in crds/, and there is no other", () => {
  const files = customResourceDefinitions().map(({ metadata }) => fileOf(metadata.name));
  expect(parse(readFileSync("crds/kustomization.yaml", "utf8")).resources).toEqual(files);
  expect(readdirSync("crds").toSorted()).toEqual([...files, "kustomization.yaml"].toSorted());
});
