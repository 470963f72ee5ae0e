import { z } from "zod";
import { builtInKind, type KubeObject, objectMeta } from "../objects/object.ts";
import { withRules } from "./fields.ts";

/** A namespace, as far as ClusterServiceConnections select it. */
export type Namespace = KubeObject;

export const namespaceKind = builtInKind<Namespace>("Namespace", "namespaces", { namespaced: false });

const namespace = z.object({
  metadata: objectMeta.pick({ name: true, uid: true, resourceVersion: true, labels: true }),
});

/** Throws where it is no namespace. The rest, such as annotations, is not kept in memory. */
export function parseNamespace(raw: unknown): Namespace {
  return namespace.parse(raw);
}

const labelValue = z.string().max(63);

const expression = withRules(
  z.object({
    key: z
      .string()
      .max(317)
      .regex(
        /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/,
        "must be the key of a label, for example kubernetes.io/metadata.name",
      )
      .describe("Key of the label, for example kubernetes.io/metadata.name."),
    operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]).describe("How the label is compared with the values."),
    values: z
      .array(labelValue)
      .max(1000)
      .optional()
      .describe("Values for In and NotIn, for example [shop, billing]; none for the others."),
  }),
  {
    cel: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
    message: "matchExpressions: In and NotIn need values, Exists and DoesNotExist take none",
    holds: ({ operator, values = [] }) => (operator === "In" || operator === "NotIn") === values.length > 0,
  },
);

/** A label selector as Kubernetes has it; without members it selects everything. */
export const namespaceSelector = z
  .object({
    matchLabels: z
      .record(z.string(), labelValue)
      .meta({ maxProperties: 100 })
      .optional()
      .describe("Labels that a namespace must have, for example kubernetes.io/metadata.name: shop."),
    matchExpressions: z
      .array(expression)
      .max(100)
      .optional()
      .describe("Requirements that must all hold, each of one label."),
  })
  .meta({ "x-kubernetes-map-type": "atomic" });

export type NamespaceSelector = z.output<typeof namespaceSelector>;

/** True if the selector selects every namespace: then no label needs to be known. */
export function selectsAll({ matchLabels = {}, matchExpressions = [] }: NamespaceSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

export function selectsLabels(
  { matchLabels = {}, matchExpressions = [] }: NamespaceSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  const valueOf = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  return (
    Object.entries(matchLabels).every(([key, value]) => valueOf(key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = valueOf(key);
      const isAmong = value !== undefined && values.includes(value);
      return { In: isAmong, NotIn: !isAmong, Exists: value !== undefined, DoesNotExist: value === undefined }[operator];
    })
  );
}
