import { definitionOf } from "../../support/definition.ts";
import { type Cluster, get, post } from "./kube.ts";

// A kind of the suite's own, with all that matters to the operator: a status subresource, defaults, bounds.

/** Serves widgets under a group of their own, so that the definition can be deleted without harm to other tests. */
export async function installWidgets(cluster: Cluster, group: string): Promise<Widgets> {
  const definition = definitionOf({ group, version: "v1", plural: "widgets", kind: "Widget" }, schema);
  const made = await post(cluster, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  if (made.status !== 201) throw new Error(`the definition was refused: ${JSON.stringify(made.body)}`);
  const widgets = new Widgets(group);
  await cluster.eventually("widgets to be served", async () => {
    const { status } = await get(cluster, widgets.all);
    return status === 200 ? true : undefined;
  });
  return widgets;
}

export class Widgets {
  readonly group: string;

  constructor(group: string) {
    this.group = group;
  }

  /** Path of the collection over all namespaces. */
  get all(): string {
    return `/apis/${this.group}/v1/widgets`;
  }

  get definition(): string {
    return `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${this.group}`;
  }

  in(cluster: Cluster): string {
    return `/apis/${this.group}/v1/namespaces/${cluster.namespace}/widgets`;
  }

  at(cluster: Cluster, name: string): string {
    return `${this.in(cluster)}/${name}`;
  }

  body(name: string, spec: object = { size: 1 }, metadata: object = {}): object {
    return { apiVersion: `${this.group}/v1`, kind: "Widget", metadata: { name, ...metadata }, spec };
  }
}

const schema = {
  type: "object",
  required: ["spec"],
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { type: "object" },
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "number", minimum: 0.25, maximum: 56 },
        color: { type: "string", default: "grey", enum: ["grey", "red"] },
        name: { type: "string", pattern: "^[a-z]+$", maxLength: 5 },
        box: { type: "object", properties: { lid: { type: "boolean", default: true }, depth: { type: "integer" } } },
        labels: { type: "object", additionalProperties: { type: "string" } },
        either: {
          type: "object",
          properties: { a: { type: "string" }, b: { type: "string" } },
          oneOf: [{ required: ["a"] }, { required: ["b"] }],
        },
      },
    },
    status: {
      type: "object",
      default: { observedGeneration: -1 },
      properties: {
        observedGeneration: { type: "integer", format: "int64" },
        state: { type: "string" },
      },
    },
  },
};
