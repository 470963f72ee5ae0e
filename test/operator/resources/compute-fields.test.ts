import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { computeAttributes } from "../../../src/api/compute-attributes.ts";
import { manifestOf } from "../../../src/cli/manifests/manifest-of.ts";
import { attributesOf } from "../../../src/operator/fields/compare.ts";
import { customResourceDefinitions } from "../../../src/operator/resources/crd.ts";
import type { StructuralSchema } from "../../../src/operator/resources/structural-schema.ts";
import { compute, endpoint } from "../../support/builders.ts";
import { fieldFacts, specWith } from "../../support/compute-fields.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const attributesWith = (which: 0 | 1) =>
  Object.fromEntries(fieldFacts.map(({ wire, values }) => [wire, values[which]]));

test("every row of the table of fields is in the CRDs of Computes, pools and Branches", () => {
  const [specs, templates] = [["spec"], ["spec", "template"]];
  const places = { Compute: specs, ComputePool: templates, Branch: ["spec", "compute"] };
  for (const { spec } of customResourceDefinitions()) {
    const { kind } = spec.names;
    if (kind !== "Compute" && kind !== "ComputePool" && kind !== "Branch") continue;
    const schema = spec.versions[0].schema.openAPIV3Schema;
    const lacking = fieldFacts.filter(({ spec: path }) => !has(schema, [...(places[kind] ?? []), ...path.split(".")]));
    expect([kind, ...lacking.map(({ spec: path }) => path)]).toEqual([kind]);
  }
});

test.each([0, 1] as const)(
  "every row of the table of fields is sent with a create and, unless its end is announced, exported as it was, %i",
  (which) => {
    const spec = specWith(which);
    expect(attributesOf(compute({ spec }).spec)).toEqual(attributesWith(which));
    const exported = manifestOf(endpoint(attributesWith(which)), { namespace: undefined, connection: "default" });
    const { pooler, ...kept } = spec;
    expect(exported).toMatchObject({ manifest: { spec: kept }, leftOut: [] });
    expect(pooler).toBeDefined();
    expect(exported).not.toHaveProperty("manifest.spec.pooler");
  },
);

test("a field that the service has in the same unit is named by its rows and in the schema of the store alone", () => {
  const files = globSync("src/**/*.ts", { cwd: root }).map((file) => file.replaceAll("\\", "/"));
  const naming = files.filter((file) => /passwordless_?access/i.test(readFileSync(join(root, file), "utf8")));
  expect(naming.toSorted()).toEqual([
    "src/api/compute-attributes.ts",
    "src/operator/resources/compute-fields.ts",
    "src/service/http/public-operations.ts",
    "src/service/store/compute-attributes.ts",
    "src/service/store/first-schema.ts",
  ]);
});

test("the tests' own rows name every attribute in the same unit once", () => {
  const apart = ["name", "suspend_timeout_seconds", "settings", "provisioner"];
  const named = [...fieldFacts.map(({ wire }) => wire), ...apart];
  expect(named.toSorted()).toEqual(Object.keys(computeAttributes).toSorted());
});

function has(schema: StructuralSchema | undefined, [name, ...rest]: readonly string[]): boolean {
  return name === undefined ? schema !== undefined : has(schema?.properties?.[name], rest);
}
