import { describe, expect, test } from "vitest";
import { derivedUID } from "../../src/cli/manifests/derived-uid.ts";
import { signatureOfUID } from "../../src/operator/resources/signature.ts";
import { main, preview, project, staging } from "../service/support/shop.ts";
import { Beside } from "./beside.ts";
import { Stage } from "./command-stage.ts";
import { baseURL, compute, connection, documents, pool } from "./texts.ts";

const fleet = documents(compute("shop-preview"), pool("shop-readers", 2));
const held = documents(connection, fleet);

test("plan --kubeconfig shows nothing to do for the manifests that the cluster runs, with its connection and key", async () => {
  using beside = new Beside(held);
  const run = await beside.run("plan", fleet);
  expect(run).toMatchObject({ status: 0, err: "" });
  expect(run.out).toContain("Plan: 3 unchanged.");
});

test("plan --kubeconfig takes an annotation from the manifest where the cluster has another value", async () => {
  const one = (paused: string, spec = "") =>
    compute("shop-preview", spec, preview, `annotations: {compute-operator.dev/paused: "${paused}"}`);
  using beside = new Beside(documents(connection, one("true")));
  const changed = "computeUnits: {min: 2, max: 2}";
  expect((await beside.run("plan", one("true", changed))).out).toContain("Paused: ");
  const run = await beside.run("plan", one("false", changed));
  expect(run).toMatchObject({ status: 2, out: expect.stringMatching(/~ shop\/shop-preview +patch/) });
});

test.each([
  ["one role", "role: app_a", "app_a"],
  ["two roles", "roles: [app_a, app_b]", "app_b"],
])("plan --kubeconfig names a password that is due to be changed, with %s", async (_, roles, role) => {
  const secret = `connectionSecret: {name: shop-db, database: shop, ${roles}, rotation: {every: 720h}}`;
  const rotating = compute("shop-preview", secret);
  using beside = new Beside(documents(connection, rotating));
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/shop/computes/shop-preview/status";
  const rotated = (rotatedAt: string) => {
    const body = [{ op: "add", path: "/status/connectionSecret", value: { role: "app_a", rotatedAt } }];
    beside.send({ method: "PATCH", path, contentType: "application/json-patch+json", body });
  };
  rotated("2001-01-01T00:00:00Z");
  const due = await beside.run("plan", rotating);
  expect(due.status).toBe(2);
  expect(due.out).toContain(`a new one for role ${role}`);
  rotated("2999-01-01T00:00:00Z");
  expect((await beside.run("plan", rotating)).out).toContain("Plan: 1 unchanged.");
});

test.each([
  ["the first", undefined],
  ["another", "one"],
])("plan --kubeconfig names a password that %s value of passwordRotationAt changes", async (_, before) => {
  const secret = "connectionSecret: {name: shop-db, database: shop, roles: [app_a, app_b]}";
  const asked = (value: string | undefined) =>
    compute(
      "shop-preview",
      secret,
      preview,
      value === undefined ? "" : `annotations: {compute-operator.dev/passwordRotationAt: "${value}"}`,
    );
  using beside = new Beside(documents(connection, asked(before)));
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/shop/computes/shop-preview/status";
  const value = { role: "app_a", rotatedAt: "2999-01-01T00:00:00Z" };
  const body = [{ op: "add", path: "/status/connectionSecret", value }];
  beside.send({ method: "PATCH", path, contentType: "application/json-patch+json", body });
  expect((await beside.run("plan", asked(before))).out).toContain("Plan: 1 unchanged.");
  // A manifest that leaves the annotation out leaves the cluster's.
  expect((await beside.run("plan", asked(undefined))).out).toContain("Plan: 1 unchanged.");
  const due = await beside.run("plan", asked("two"));
  expect(due.status).toBe(2);
  expect(due.out).toContain("a new one for role app_b");
});

test("plan --kubeconfig shows what a changed manifest changes at the service, and what a smaller pool deletes", async () => {
  using beside = new Beside(held);
  const changed = documents(
    compute("shop-preview", "computeUnits: {min: 2, max: 2}"),
    pool("shop-readers", 1),
    compute("shop-new", "", staging),
  );
  const run = await beside.run("plan", changed);
  expect(run.status).toBe(2);
  expect(run.out).toMatch(/\+ shop\/shop-new +create/);
  expect(run.out).toMatch(/~ shop\/shop-preview +patch .*computeUnits\.min \S+ → 2/);
  expect(run.out).toMatch(/- shop\/shop-readers-1 +delete/);
  expect(run.out).toMatch(/= shop\/shop-readers-0 +as is/);
});

test("plan --kubeconfig says that a change waits where the status was wiped, so that an earlier create may still complete", async () => {
  using beside = new Beside(held);
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/shop/computes/shop-preview/status";
  const body = [{ op: "remove", path: "/status/conditions" }];
  beside.send({ method: "PATCH", path, contentType: "application/json-patch+json", body });
  const run = await beside.run("plan", documents(compute("shop-preview", "computeUnits: {min: 2, max: 2}")));
  expect(run.out).toMatch(/… shop\/shop-preview +wait +Creating: An earlier request .* may still complete/);
});

test("plan --kubeconfig says whose the primary is that a Compute of the cluster holds and no manifest declares", async () => {
  using beside = new Beside(held);
  const run = await beside.run("plan", compute("another"));
  expect(run.status).toBe(1);
  expect(run.out).toMatch(/! shop\/another +refuse +Conflict: .*shop\/shop-preview/);
});

test("plan --kubeconfig refuses a change that the API server refuses", async () => {
  using beside = new Beside(held);
  const moved = compute("shop-preview").replace(project, "another-project");
  const run = await beside.run("plan", moved);
  expect(run.status).toBe(1);
  expect(run.err).toContain(
    `manifests.yaml:1: Compute shop/shop-preview: projectID is immutable and is ${project} in the cluster, so kubectl apply refuses another-project`,
  );
});

test("plan --kubeconfig sends the cluster's key to no address that only a manifest names", async () => {
  using beside = new Beside(held);
  const elsewhere = documents(connection.slice(connection.indexOf("---\n") + 4), fleet);
  expect((await beside.run("plan", elsewhere)).status).toBe(0);
  const run = await beside.run("plan", elsewhere.replace(baseURL, "https://evil.example.com/api/v2"));
  expect(run).toMatchObject({ status: 1, out: "" });
  expect(run.err).toContain("the key in the cluster is sent only to the service that this connection names there");
});

test("plan --kubeconfig takes the key of the manifests where the cluster has one too", async () => {
  const other = connection.replace(/api-key: \S+(?=\})/, "api-key: a-key-that-was-revoked");
  expect(other).not.toBe(connection);
  using revoked = new Beside(documents(other, fleet));
  expect((await revoked.run("plan", documents(connection, fleet))).out).toContain("Plan: 3 unchanged.");
  using beside = new Beside(held);
  expect((await beside.run("plan", documents(other, fleet))).out).toContain("Unauthorized");
});

test("plan --kubeconfig takes the key from the environment where the Secret may not be read, and reads namespaces one by one", async () => {
  using beside = new Beside(held);
  beside.refused.add("/secrets/").add("/v1alpha1/computes").add("/api/v1/namespaces?").add("/clusterservice");
  const run = await beside.run("plan", fleet);
  expect(run.status).toBe(1);
  expect(run.err).toContain("Or set COMPUTE_OPERATOR_API_KEY.");
  beside.stage.env = { COMPUTE_OPERATOR_API_KEY: "org-key" };
  expect((await beside.run("plan", fleet, "--base-url", baseURL)).out).toContain("Plan: 3 unchanged.");
});

test.each([
  ["selects", "in", "out", { status: 2, err: "" }],
  ["does not select", "out", "in", { status: 1, err: expect.stringContaining('does not select namespace "shop"') }],
])("plan --kubeconfig takes a namespace's labels from its manifest, which the connection %s", async (...row) => {
  const [, declared, stored, expected] = row;
  const namespace = (label: string) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "shop", labels: { fleet: label } },
  });
  const secret = connection.slice(0, connection.indexOf("---\n")).replace("namespace: shop", "namespace: operators");
  const fleetConnection = `apiVersion: compute-operator.dev/v1alpha1
kind: ClusterServiceConnection
metadata: {name: fleet}
spec: {baseURL: "${baseURL}", apiKeySecretRef: {name: service-api-key}, namespaceSelector: {matchLabels: {fleet: in}}, allowedProjects: ["*"]}
`;
  using beside = new Beside(connection);
  beside.send({ method: "PUT", path: "/api/v1/namespaces/shop", body: namespace(stored) });
  const through = compute("new", "connectionRef: {kind: ClusterServiceConnection, name: fleet}");
  const text = documents(`${JSON.stringify(namespace(declared))}\n`, secret, fleetConnection, through);
  expect(await beside.run("plan", text)).toMatchObject(expected);
});

test("plan --kubeconfig names the rights that it lacks", async () => {
  using beside = new Beside(held);
  beside.refused.add("/computes");
  const run = await beside.run("plan", fleet);
  expect(run).toMatchObject({ status: 1, out: "" });
  expect(run.err).toMatch(
    /the cluster at https:\/\/cluster\.test:6443 cannot be read: .*403.*Grant get and list of computes/,
  );
});

test("plan --kubeconfig names the contexts that there are", async () => {
  using beside = new Beside(held);
  const run = await beside.run("plan", fleet, "--context", "prod");
  expect(run).toMatchObject({ status: 1, out: "" });
  expect(run.err).toContain('has no context "prod": it has main, other');
});

describe("apply --kubeconfig", () => {
  test("sends nothing for what the cluster's operator keeps, changed or not", async () => {
    using beside = new Beside(held);
    expect(await beside.run("apply", fleet)).toMatchObject({ status: 0 });
    const run = await beside.run("apply", documents(compute("shop-preview", "computeUnits: {min: 2, max: 2}")));
    expect(run.status).toBe(1);
    expect(run.out).toContain("This Compute is in a cluster, whose operator keeps it, so apply sends nothing for it.");
    expect(beside.stage.writes).toEqual([]);
  });

  test("sends nothing for a Compute of the cluster that adopted what apply made", async () => {
    using beside = new Beside(connection);
    const metadata = { namespace: "shop", name: "before", uid: derivedUID("shop", "before") };
    const made = beside.endpoint(metadata, { branchID: main, type: "read_only" });
    const text = compute("a", `type: read_only, adopt: {endpointID: ${made}}`, main);
    beside.post(text);
    const run = await beside.run("apply", text.replace("type:", "disabled: true, type:"));
    expect(run).toMatchObject({ status: 1, out: expect.stringContaining("This Compute is in a cluster") });
    expect(beside.stage.writes).toEqual([]);
  });

  test("creates what no cluster holds beside it", async () => {
    using beside = new Beside(held);
    expect(await beside.run("apply", documents(fleet, compute("shop-new", "", staging)))).toMatchObject({ status: 0 });
    expect(beside.stage.writes.map(({ line }) => line)).toEqual([`POST /projects/${project}/endpoints`]);
  });

  test("creates nothing in a project where a signature has no Compute in manifests and cluster", async () => {
    using beside = new Beside(held);
    beside.stage.shop.create({
      branch_id: main,
      type: "read_only",
      name: signatureOfUID("0f6c1d1e-8d5b-4c57-9a3e-000000000009"),
    });
    beside.stage.shop.finishOperations();
    const run = await beside.run("apply", documents(fleet, compute("shop-new", "type: read_only", main)));
    expect(run.status).toBe(1);
    expect(beside.stage.writes).toEqual([]);
  });
});

describe("replicas that an autoscaler sets", () => {
  const scaled = documents(compute("shop-preview"), pool("shop-readers", 3));
  const unnumbered = scaled.replace("replicas: 3, ", "");

  test("a pool without replicas is planned with the number of the cluster, and changes reach all its replicas", async () => {
    using beside = new Beside(documents(connection, scaled));
    expect(await beside.run("plan", unnumbered)).toMatchObject({
      status: 0,
      err: "",
      out: expect.stringContaining("Plan: 4 unchanged."),
    });
    const run = await beside.run("plan", unnumbered.replace("max: 1}", "max: 2}"));
    expect(run.out).toContain("Plan: 3 to change, 1 unchanged.");
    const nulled = await beside.run("plan", scaled.replace("replicas: 3", "replicas: null"));
    expect(nulled.out).toContain("Plan: 4 unchanged.");
  });

  test.each([
    [3, true],
    [undefined, false],
  ])(
    "a pool without replicas that kubectl applied with %s is refused by it, which is said: %s",
    async (replicas, isSaid) => {
      const applied = JSON.stringify({ spec: { replicas, template: {} } });
      const annotated = pool("shop-readers", 3).replace(
        "namespace: shop}",
        `namespace: shop, annotations: {kubectl.kubernetes.io/last-applied-configuration: '${applied}'}}`,
      );
      using beside = new Beside(documents(connection, compute("shop-preview"), annotated));
      expect((await beside.run("plan", unnumbered)).err).toBe(
        isSaid
          ? "compute-operator: ComputePool shop/shop-readers: kubectl apply refuses it without spec.replicas, because it was applied with it. Use kubectl apply --server-side"
          : "",
      );
    },
  );

  test("a pool is planned with deletions only where a manifest declares fewer, and the way out is named", async () => {
    using beside = new Beside(documents(connection, scaled));
    const run = await beside.run("plan", scaled.replace("replicas: 3", "replicas: 2"));
    expect(run.out).toMatch(/- shop\/shop-readers-2 +delete/);
    expect(run.err).toBe(
      "compute-operator: ComputePool shop/shop-readers: spec.replicas is 2 here and 3 in the cluster. Leave it out, and use kubectl apply --server-side, if an autoscaler sets it: the plan then takes the cluster's number",
    );
    expect((await beside.run("plan", scaled.replace("replicas: 3", "replicas: 4"))).err).toBe("");
  });

  test("a pool without replicas is refused where the cluster has no such pool, as the API server refuses it", async () => {
    using beside = new Beside(documents(connection, compute("shop-preview")));
    const run = await beside.run("plan", unnumbered);
    expect(run).toMatchObject({ status: 1, out: "" });
    expect(run.err).toContain(
      "manifests.yaml:6: ComputePool shop/shop-readers: spec.replicas: is needed to make the pool",
    );
  });

  test("a pool without replicas is left out without a cluster by plan, and refused where replicas would be made or deleted", async () => {
    using stage = new Stage();
    const path = stage.file("a.yaml", documents(connection, unnumbered));
    const planned = await stage.run("plan", ["-f", path]);
    expect(planned).toMatchObject({ status: 2, out: expect.stringContaining("Plan: 1 to create.") });
    expect(planned.err).toContain("ComputePool shop/shop-readers: its replicas are not planned");
    const prune = ["--fleet", "eu", "--namespace", "shop", "--prune"];
    for (const [command, flags] of [
      ["apply", ["--yes"]],
      ["plan", prune],
      ["apply", ["--yes", ...prune]],
    ] as const) {
      const run = await stage.run(command, ["-f", path, ...flags]);
      expect(run).toMatchObject({
        status: 1,
        out: "",
        err: expect.stringContaining("spec.replicas: is left to the cluster"),
      });
    }
    expect(stage.writes).toEqual([]);
  });
});
