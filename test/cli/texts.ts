import { keys, main, preview, project } from "../service/support/shop.ts";

/** Where the service of the tests is said to be. */
export const baseURL = "https://service.example.com/api/v2";

export const connection = `apiVersion: v1
kind: Secret
metadata: {name: service-api-key, namespace: shop}
type: compute-operator.dev/api-key
stringData: {api-key: ${keys.shop}}
---
apiVersion: compute-operator.dev/v1alpha1
kind: ServiceConnection
metadata: {name: default, namespace: shop}
spec: {baseURL: "${baseURL}", apiKeySecretRef: {name: service-api-key}}
`;

/** A Compute of namespace `shop`, its spec in YAML flow style but for what every one has. */
export function compute(name: string, spec = "", branch: string = preview, metadata = ""): string {
  return `apiVersion: compute-operator.dev/v1alpha1
kind: Compute
metadata: {name: ${name}, namespace: shop${metadata === "" ? "" : `, ${metadata}`}}
spec: {projectID: ${project}, branchID: ${branch}${spec === "" ? "" : `, ${spec}`}}
`;
}

export function pool(name: string, replicas: number): string {
  return `apiVersion: compute-operator.dev/v1alpha1
kind: ComputePool
metadata: {name: ${name}, namespace: shop}
spec: {replicas: ${replicas}, template: {projectID: ${project}, branchID: ${main}, computeUnits: {min: 0.25, max: 1}}}
`;
}

export function documents(...texts: readonly string[]): string {
  return texts.join("---\n");
}
