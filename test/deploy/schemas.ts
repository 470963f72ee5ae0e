import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { definitions as ours } from "../../src/operator/resources/crd-definitions.ts";
import { kubectl } from "../control-plane/shared-control-plane.ts";
import { eventually } from "../support/eventually.ts";

const definition = z.looseObject({
  type: z.string().optional(),
  format: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  "x-kubernetes-group-version-kind": z
    .array(z.object({ group: z.string(), version: z.string(), kind: z.string() }))
    .optional(),
});
type Definition = z.output<typeof definition>;
const openapi = z.object({ definitions: z.record(z.string(), definition) });

/** Where `writeSchemas` puts the schema of a kind, in kubeconform's words. */
export const schemaLocation = (directory: string) => join(directory, "{{.ResourceKind}}{{.KindSuffix}}.json");

/** Writes JSON Schemas of every kind that the API server serves, strict about unknown fields. */
export async function writeSchemas(directory: string): Promise<void> {
  const definitions = await eventually("the API server to describe all kinds of ours", async () => {
    const all = openapi.parse(JSON.parse(await kubectl(["get", "--raw", "/openapi/v2"]))).definitions;
    const kinds = Object.values(all).flatMap((each) => each["x-kubernetes-group-version-kind"] ?? []);
    return ours.every(({ kind }) => kinds.some((each) => each.kind === kind.kind)) ? all : undefined;
  });
  const strict = Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, strictly(schema)]));
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "definitions.json"), JSON.stringify({ definitions: strict }));
  for (const [name, { "x-kubernetes-group-version-kind": kinds = [] }] of Object.entries(definitions)) {
    for (const { group, version, kind } of kinds) {
      const parts = [kind, group.split(".")[0] ?? "", version].filter((part) => part !== "");
      const file = join(directory, `${parts.join("-").toLowerCase()}.json`);
      writeFileSync(file, JSON.stringify({ $ref: `definitions.json#/definitions/${name}` }));
    }
  }
}

function strictly(schema: Definition): unknown {
  // OpenAPI calls it a string with a format that JSON Schema does not know.
  if (schema.format === "int-or-string") return { type: ["integer", "string"] };
  return schema.properties === undefined ? schema : { additionalProperties: false, ...schema };
}
