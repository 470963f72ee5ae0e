import type { ClusterTransport } from "../../src/operator/kube/transport.ts";
import { builtInKind, type KubeObject, type ResourceKind } from "../../src/operator/objects/object.ts";
import type { RuntimePorts } from "../../src/operator/runtime/log.ts";
import { definitionOf } from "../support/definition.ts";

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

export interface Mirror extends KubeObject {
  spec: { source: string; targets: readonly string[] };
  status?: MirrorStatus;
}

export interface MirrorStatus {
  observedGeneration?: number | undefined;
  copies: number;
  /** Namespaces with a ConfigMap of that name that is not ours. */
  refused: readonly string[];
}

export const configMapKind = builtInKind<ConfigMap>("ConfigMap", "configmaps");
export const mirrorKind: ResourceKind<Mirror> = {
  group: "example.dev",
  version: "v1",
  plural: "mirrors",
  kind: "Mirror",
  namespaced: true,
};
/** On a copy: the uid of its Mirror. A person who writes it gives the ConfigMap away. */
export const ownerLabel = "example.dev/mirror";
export const finalizer = "example.dev/copies";

/** The ports of the controller. */
export interface MirrorPorts extends RuntimePorts {
  transport: ClusterTransport;
  identity: string;
  settleMs: number;
}

/** True if an object with these labels is a copy that this Mirror made. */
export function isCopyOf({ metadata: { uid } }: Mirror, labels: Readonly<Record<string, string>> = {}): boolean {
  return labels[ownerLabel] === uid;
}

const strings = { type: "array", items: { type: "string" } };

/** The definition that the API server serves Mirrors from. */
export const mirrorDefinition = definitionOf(
  { group: "example.dev", version: "v1", plural: "mirrors", kind: "Mirror" },
  {
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: {
        type: "object",
        required: ["source", "targets"],
        properties: { source: { type: "string" }, targets: strings },
      },
      status: {
        type: "object",
        properties: {
          observedGeneration: { type: "integer" },
          copies: { type: "integer" },
          refused: strings,
        },
      },
    },
  },
);
