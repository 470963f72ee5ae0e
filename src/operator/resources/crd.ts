import { stringify } from "yaml";
import { type Definition, definitions, namesOf } from "./crd-definitions.ts";
import { type StructuralSchema, structuralSchema } from "./structural-schema.ts";

/** A CustomResourceDefinition of the operator, ready for the API server. */
export type CustomResourceDefinition = ReturnType<typeof customResourceDefinition>;

/** The CustomResourceDefinitions of all kinds, worked out from the zod schemas. */
export function customResourceDefinitions() {
  return definitions.map(customResourceDefinition);
}

/** One of them as YAML. */
export function crdYaml(definition: CustomResourceDefinition): string {
  return stringify(definition, { compat: "yaml-1.1", lineWidth: 0, aliasDuplicateObjects: false });
}

/** All of them as one YAML stream: what the `crds` command prints. */
export function crdsYaml(): string {
  return customResourceDefinitions().map(crdYaml).join("---\n");
}

function customResourceDefinition(definition: Definition) {
  const { kind, plural, group, version } = definition.kind;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: definition.kind.namespaced ? "Namespaced" : "Cluster",
      names: {
        kind,
        listKind: `${kind}List`,
        ...namesOf(definition),
        categories: ["compute-operator"],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {}, ...(definition.scale ? { scale: definition.scale } : {}) },
          additionalPrinterColumns: definition.columns.map(({ wide, ...column }) => ({
            ...column,
            ...(wide ? { priority: 1 } : {}),
          })),
          schema: { openAPIV3Schema: rootSchema(definition) },
        },
      ] as const,
    },
  };
}

function rootSchema({ description, spec, status, rules }: Definition): StructuralSchema {
  return {
    type: "object",
    description,
    required: ["spec"],
    ...(rules ? { "x-kubernetes-validations": rules } : {}),
    properties: {
      apiVersion: { type: "string", description: "Group and version of the kind." },
      kind: { type: "string", description: "The kind of the object." },
      // The API server lets nothing more be said here; it describes the metadata itself.
      metadata: { type: "object" },
      spec: { ...structuralSchema(spec, "spec"), description: "The desired state." },
      status: {
        ...structuralSchema(status, "status"),
        description: "What the operator last observed. Written by the operator only.",
        // Tools that compare it with the generation see a new object as in progress.
        default: { observedGeneration: -1 },
      },
    },
  };
}
