import { manifest } from "./manifests.ts";

export type Attempt = [what: string, args: readonly string[], input?: object];

/** Namespace of the operator, and of the keys that ClusterServiceConnections share out. */
const own = "compute-operator-system";

const mine = { ...manifest("mine", {}), metadata: { name: "mine", namespace: "shop" } };

/**
 * What a tenant of another namespace types against what is not their own, with the object on standard input if there is
 * one: namespace `shop` with the Compute `db` and its connection Secret `details`, and the ClusterServiceConnection
 * `fleet`. The API server refuses all of it.
 */
export const attempts: readonly Attempt[] = [
  ["read the connection", ["get", "clusterserviceconnections"]],
  ["read its key", ["get", "secret", "fleet-key", "-n", own]],
  ["read another's Compute", ["get", "computes", "-n", "shop"]],
  ["read another's connection Secret", ["get", "secret", "details", "-n", "shop"]],
  ["read another's events", ["get", "events", "-n", "shop"]],
  ["change the connection", ["annotate", "csconn", "fleet", "a=b"]],
  ["take the connection's finalizer away", merge("csconn/fleet", { metadata: { finalizers: null } })],
  ["write the connection's status", merge("csconn/fleet", { status: {} }, "--subresource=status")],
  ["change its key", merge("secret/fleet-key", { data: null }, "-n", own)],
  ["put a key beside it", ["create", "secret", "generic", "another", "-n", own]],
  ["pause another's Compute", ["annotate", "compute", "db", "-n", "shop", "compute-operator.dev/paused=true"]],
  ["make a Compute in another's namespace", ["create", "-n", "shop", "-f", "-"], mine],
  [
    "act as the operator",
    ["get", "computes", "-A", "--as=system:serviceaccount:compute-operator-system:compute-operator"],
  ],
  ["get the operator's token", ["create", "token", "compute-operator", "-n", own]],
  ["delete the connection", ["delete", "csconn", "fleet"]],
  ["delete its key", ["delete", "secret", "fleet-key", "-n", own]],
  ["delete another's connection Secret", ["delete", "secret", "details", "-n", "shop"]],
  ["delete another's Compute", ["delete", "compute", "db", "-n", "shop"]],
  ["delete another's namespace", ["delete", "namespace", "shop"]],
  ["delete a definition", ["delete", "crd", "computes.compute-operator.dev"]],
  ["take over the operator's Lease", ["delete", "lease", "compute-operator", "-n", own]],
  ["label the own namespace", ["label", "namespace", "mallory", "fleet=yes"]],
];

/** `kubectl patch` with a merge patch. */
function merge(object: string, patch: object, ...more: string[]): string[] {
  return ["patch", object, ...more, "--type=merge", "-p", JSON.stringify(patch)];
}
