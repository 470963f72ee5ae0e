import { expect, test } from "vitest";
import {
  allowsProject,
  clusterServiceConnectionKind,
  isOfCluster,
  kindOf,
  labelOf,
  parseClusterServiceConnection,
} from "../../../src/operator/resources/cluster-service-connection.ts";
import { clusterConnectionOf, connectionKeyOf } from "../../../src/operator/resources/connection-user.ts";
import { parseServiceConnection, serviceConnectionKind } from "../../../src/operator/resources/service-connection.ts";

const metadata = { name: "eu", uid: "u-1", resourceVersion: "1" };
const shared = { baseURL: "https://service.example.com/api/v2", apiKeySecretRef: { name: "key" } };

function connection(spec: object) {
  const isNamespaced = !("namespaceSelector" in spec);
  const raw = { metadata, spec: { ...shared, ...spec } };
  const read = isNamespaced ? parseServiceConnection(raw) : parseClusterServiceConnection(raw);
  if (!read.ok) throw new Error(read.problem);
  return read.value;
}
const ofNamespace = (spec: object = {}) => connection(spec);
const ofCluster = (...allowedProjects: string[]) => connection({ namespaceSelector: {}, allowedProjects });

test("the two kinds of connections are told apart", () => {
  expect([isOfCluster(ofNamespace()), isOfCluster(ofCluster())]).toEqual([false, true]);
  expect(kindOf(ofNamespace())).toBe(serviceConnectionKind);
  expect(kindOf(ofCluster())).toBe(clusterServiceConnectionKind);
  expect([serviceConnectionKind.namespaced, clusterServiceConnectionKind.namespaced]).toEqual([true, false]);
  expect(labelOf(ofNamespace())).toBe('ServiceConnection "eu"');
  expect(labelOf(ofCluster())).toBe('ClusterServiceConnection "eu"');
});

test.each<[string, ReturnType<typeof connection>, boolean]>([
  ["one that lists none", ofNamespace(), true],
  ["one that lists it", ofNamespace({ allowedProjects: ["shop-two", "shop-one"] }), true],
  ["one that lists another", ofNamespace({ allowedProjects: ["shop-two"] }), false],
  ["one that lists an empty list", ofNamespace({ allowedProjects: [] }), false],
  ["one of the cluster that lists it", ofCluster("shop-one"), true],
  ["one of the cluster that lists another", ofCluster("shop-two"), false],
  ["one of the cluster that lists all", ofCluster("shop-two", "*"), true],
  ["one of the cluster that lists none", ofCluster(), false],
])("a project is allowed by %s", (_, given, allowed) => {
  expect(allowsProject(given, "shop-one")).toBe(allowed);
});

test.each([
  ["ServiceConnection", { namespace: "shop", name: "eu" }, undefined],
  ["ClusterServiceConnection", { namespace: "", name: "eu" }, "eu"],
] as const)("an object that names a %s is found by its key", (kind, key, ofTheCluster) => {
  const user = { metadata: { namespace: "shop" }, spec: { connectionRef: { kind, name: "eu" } } };
  expect(connectionKeyOf(user)).toEqual(key);
  expect(clusterConnectionOf(user)).toBe(ofTheCluster);
});
