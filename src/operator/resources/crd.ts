import { stringify } from "yaml";
import { type Definition, definitions } from "./crd-definitions.ts";
import { type StructuralSchema, structuralSchema } from "./structural-schema.ts";

interface Version {
  readonly name: string;
  readonly served: true;
  readonly storage: true;
  readonly subresources: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly additionalPrinterColumns: readonly Readonly<Record<string, string | number>>[];
  readonly schema: { readonly openAPIV3Schema: StructuralSchema };
}

/** A CustomResourceDefinition of the operator, ready for the API server. */
export interface CustomResourceDefinition {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly group: string;
    readonly scope: "Namespaced" | "Cluster";
    readonly names: {
      readonly kind: string;
      readonly listKind: string;
      readonly plural: string;
      readonly singular: string;
      readonly shortNames?: readonly string[];
      readonly categories: readonly string[];
    };
    readonly versions: readonly [Version];
  };
}

/** The CustomResourceDefinitions of all kinds, worked out from the zod schemas. */
export function customResourceDefinitions(): CustomResourceDefinition[] {
  return definitions.map(customResourceDefinition);
}

/** One of them as YAML. */
export function crdYaml(definition: CustomResourceDefinition): string {
  return stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** All of them as one YAML stream: what the `crds` command prints. */
export function crdsYaml(): string {
  return customResourceDefinitions().map(crdYaml).join("---\n");
}

function customResourceDefinition(definition: Definition): CustomResourceDefinition {
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
        plural,
        singular: kind.toLowerCase(),
        ...(definition.shortNames ? { shortNames: definition.shortNames } : {}),
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
      ],
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
