import { expect, test } from "vitest";
import { keys, project } from "../service/support/shop.ts";
import { refusals, Stage } from "./command-stage.ts";
import { baseURL, compute, documents } from "./texts.ts";

const secret = `apiVersion: v1
kind: Secret
metadata: {name: fleet-key, namespace: compute-operator-system}
type: compute-operator.dev/api-key
stringData: {api-key: ${keys.shop}}
`;

function fleet(selector: string, projects = project): string {
  return `apiVersion: compute-operator.dev/v1alpha1
kind: ClusterServiceConnection
metadata: {name: fleet}
spec: {baseURL: "${baseURL}", apiKeySecretRef: {name: fleet-key}, namespaceSelector: ${selector}, allowedProjects: ["${projects}"]}
`;
}

const through = "connectionRef: {kind: ClusterServiceConnection, name: fleet}";
const byName = "{matchLabels: {kubernetes.io/metadata.name: shop}}";
const byLabel = "{matchLabels: {fleet: yes-it-is}}";
const namespace = (label: string) => `apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {fleet: ${label}}}
`;

test.each([
  ["by the namespace's name", documents(fleet(byName), secret, compute("a", through))],
  ["by {}", documents(fleet("{}"), secret, compute("a", through))],
  ["by a label that is declared", documents(namespace("yes-it-is"), fleet(byLabel), secret, compute("a", through))],
  ["by a label that no manifest tells", documents(fleet(byLabel), secret, compute("a", through))],
  ["with every project allowed", documents(fleet("{}", "*"), secret, compute("a", through))],
])("a connection serves a namespace that it selects %s", async (_, text) => {
  using stage = new Stage();
  const run = await stage.run("plan", ["-f", stage.file("a.yaml", text)]);
  expect(run).toMatchObject({ status: 2, out: expect.stringContaining("+ shop/a  create") });
  const applied = await stage.run("apply", ["-f", `${stage.directory}/a.yaml`, "--yes"]);
  expect(applied.status).toBe(0);
  expect(stage.writes).toHaveLength(1);
});

test.each<[string, string, string]>([
  [
    "does not select the namespace by name",
    documents(fleet(byName.replace("shop", "billing")), secret, compute("a", through)),
    `Compute shop/a: spec.connectionRef: ClusterServiceConnection "fleet" does not select namespace "shop"`,
  ],
  [
    "does not select the labels of the namespace that is declared",
    documents(namespace("no"), fleet(byLabel), secret, compute("a", through)),
    'ClusterServiceConnection "fleet" does not select namespace "shop"',
  ],
  [
    "is missing",
    documents(compute("a", through)),
    'spec.connectionRef.name: there is no ClusterServiceConnection "fleet" in these manifests.',
  ],
  [
    "has no Secret",
    documents(fleet("{}"), compute("a", through)),
    'a.yaml:1: ClusterServiceConnection fleet: There is no Secret "fleet-key" of type compute-operator.dev/api-key in namespace "compute-operator-system".',
  ],
  [
    "has no selector",
    documents(fleet("{}").replace("namespaceSelector: {}, ", ""), secret, compute("a", through)),
    "ClusterServiceConnection fleet: spec.namespaceSelector: is needed: object",
  ],
  [
    "is declared twice",
    documents(fleet("{}"), fleet("{}"), secret, compute("a", through)),
    "ClusterServiceConnection fleet is declared twice",
  ],
])("a connection that %s is reported", async (_, text, message) => {
  expect(await refusals(text)).toContain(message);
});

test("a connection that does not allow the project has nothing planned", async () => {
  using stage = new Stage();
  const text = documents(fleet("{}", "other"), secret, compute("a", through));
  const run = await stage.run("plan", ["-f", stage.file("a.yaml", text)]);
  expect(run.out).toContain(`ClusterServiceConnection "fleet" does not allow project ${project}`);
  expect(stage.writes).toEqual([]);
});
