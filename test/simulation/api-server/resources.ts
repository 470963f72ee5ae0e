import { isJsonObject, type JsonObject, type KubeObject } from "./objects.ts";

/** A kind that the API server serves. */
export interface Resource {
  group: string;
  version: string;
  plural: string;
  kind: string;
  namespaced: boolean;
  /** Whether `/status` is a subresource of its own: then writes elsewhere leave the status alone. */
  statusSubresource: boolean;
  /** Whether a PUT may leave out resourceVersion. */
  unconditionalUpdate: boolean;
  /** Whether changes of anything but metadata and status raise `metadata.generation`. */
  generations: boolean;
  /** openAPIV3Schema of a custom resource; built-in kinds are stored as they come. */
  schema?: JsonObject;
  /** Members besides metadata.name and metadata.namespace that a field selector may name. */
  selectable: readonly string[];
}

const builtIn = (
  group: string,
  version: string,
  plural: string,
  kind: string,
  rest: Partial<Resource> = {},
): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced: true,
  statusSubresource: false,
  unconditionalUpdate: true,
  generations: false,
  selectable: [],
  ...rest,
});

export const namespaces = builtIn("", "v1", "namespaces", "Namespace", { namespaced: false, statusSubresource: true });

export const customResourceDefinitions = builtIn(
  "apiextensions.k8s.io",
  "v1",
  "customresourcedefinitions",
  "CustomResourceDefinition",
  { namespaced: false, statusSubresource: true, unconditionalUpdate: false, generations: true },
);

export const builtInResources: readonly Resource[] = [
  namespaces,
  customResourceDefinitions,
  builtIn("", "v1", "secrets", "Secret", { selectable: ["type"] }),
  builtIn("", "v1", "configmaps", "ConfigMap"),
  builtIn("", "v1", "events", "Event", {
    selectable: ["reason", "type", "involvedObject.name", "involvedObject.uid", "involvedObject.kind"],
  }),
  builtIn("events.k8s.io", "v1", "events", "Event"),
  builtIn("coordination.k8s.io", "v1", "leases", "Lease", { unconditionalUpdate: false }),
];

/** What a CustomResourceDefinition serves: one resource for each version that is served. */
export function resourcesOf(definition: KubeObject): Resource[] {
  const spec = record(definition["spec"]);
  const names = record(spec["names"]);
  const versions = Array.isArray(spec["versions"]) ? spec["versions"].map(record) : [];
  return versions
    .filter((version) => version["served"] === true)
    .map((version) => {
      const subresources = record(version["subresources"]);
      return {
        group: text(spec["group"]),
        version: text(version["name"]),
        plural: text(names["plural"]),
        kind: text(names["kind"]),
        namespaced: spec["scope"] === "Namespaced",
        statusSubresource: isJsonObject(subresources["status"]),
        unconditionalUpdate: false,
        generations: true,
        schema: record(record(version["schema"])["openAPIV3Schema"]),
        selectable: [],
      };
    });
}

/** Names a resource's collection, whatever its version. */
export function resourceKey(resource: Pick<Resource, "group" | "plural">): string {
  return `${resource.plural}.${resource.group}`;
}

export function apiVersionOf(resource: Resource): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

function record(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
