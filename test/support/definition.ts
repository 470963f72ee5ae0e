/** Definition of a kind that one test needs: namespaced, one version, a status subresource. `schema`: OpenAPI v3. */
export function definitionOf(
  { group, version, plural, kind }: { group: string; version: string; plural: string; kind: string },
  schema: object,
) {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
}
