import { isJsonObject, type JsonObject, type KubeObject } from "../api-server/objects.ts";
import type { ApiServer } from "../api-server/server.ts";
import { operatorNamespace } from "./operator.ts";

// What the people of other namespaces do, in which connection Secrets of Computes of `shop` may lie.

/** The label by which another namespace agrees to them. */
export const agreement = "secrets-from.compute-operator.dev/shop";
const namespacesPath = "/api/v1/namespaces";

/** A person says whether the namespace agrees; it is made where there is none. */
export function agree(server: ApiServer, namespace: string, isAgreed: boolean): void {
  const labels: JsonObject = isAgreed ? { [agreement]: "yes" } : {};
  const body = { metadata: { name: namespace, labels } };
  const { status } = server.handle({ method: "POST", path: namespacesPath, body });
  if (status !== 409) return;
  const patch = [{ op: "add", path: "/metadata/labels", value: labels }];
  const path = `${namespacesPath}/${namespace}`;
  server.handle({ method: "PATCH", path, body: patch, contentType: "application/json-patch+json" });
}

/** One that bears the marks of a Compute of another namespace, so that operators see it. */
export function makeSecret(server: ApiServer, namespace: string, name: string): void {
  const marks = {
    labels: { "compute-operator.dev/compute": "theirs" },
    annotations: { "compute-operator.dev/secret-of": `stock/${name}/theirs` },
  };
  const body = { metadata: { name, ...marks }, type: "servicebinding.io/postgresql", data: { own: "eA==" } };
  server.handle({ method: "POST", path: `${namespacesPath}/${namespace}/secrets`, body });
}

export function removeSecret(server: ApiServer, namespace: string, name: string): void {
  server.handle({ method: "DELETE", path: `${namespacesPath}/${namespace}/secrets/${name}` });
}

/** Those that there are, to be made again in a cluster that is set up anew; answers how. */
export function othersOf(server: ApiServer): () => void {
  const isOther = ({ metadata }: KubeObject) => metadata.name !== "shop" && metadata.name !== operatorNamespace;
  const others = server.store.list(server.resource("", "namespaces"), undefined).filter(isOther);
  return () => {
    for (const { metadata } of others) agree(server, metadata.name, agrees(metadata));
  };
}

export function agrees({ labels }: KubeObject["metadata"]): boolean {
  return isJsonObject(labels) && Object.hasOwn(labels, agreement);
}
