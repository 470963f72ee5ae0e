import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { ClusterRequest } from "../../src/operator/kube/transport.ts";
import { annotations, finalizers } from "../../src/operator/resources/names.ts";
import { asRecord } from "../../src/operator/resources/record.ts";
import { markerOf } from "../../src/operator/resources/signature.ts";
import { main, project, staging } from "../service/support/shop.ts";
import { ApiServer } from "../simulation/api-server/server.ts";
import { InMemoryClusterTransport } from "../simulation/api-server/transport.ts";
import { seededRandom } from "../simulation/random.ts";
import { installCRDs } from "../support/shipped-crd.ts";
import { Stage } from "./stage.ts";
import { baseURL, compute, connection, documents, pool } from "./texts.ts";

const kubeconfig = `apiVersion: v1
kind: Config
current-context: main
clusters: [{name: main, cluster: {server: "https://cluster.test:6443"}}]
contexts: [{name: main, context: {cluster: main, user: me, namespace: shop}}, {name: other, context: {cluster: main, user: me}}]
users: [{name: me, user: {token: t}}]
`;

/** A cluster whose operator keeps one primary and a pool, and the command beside it. */
class Beside implements Disposable {
  readonly stage = new Stage();
  readonly server: ApiServer;
  /** Answers in place of the API server. */
  readonly refused = new Set<string>();

  constructor(held: string) {
    this.server = new ApiServer({ clock: this.stage.time, random: seededRandom(1), controllerManager: true });
    installCRDs(this.server);
    this.#post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
    for (const document of parseAllDocuments(held)) this.hold(asRecord(document.toJS()));
    const transport = new InMemoryClusterTransport(this.server, this.stage.time);
    this.stage.cluster = {
      request: (request, options) => {
        if ([...this.refused].every((part) => !request.path.includes(part))) return transport.request(request, options);
        return Promise.resolve({ status: 403, body: { reason: "Forbidden", message: "no right to it" } });
      },
      watch: (request, options) => transport.watch(request, options),
    };
  }

  /** Stores an object; a Compute gets its endpoint at the service. */
  hold(object: Record<string, unknown>): void {
    const { kind } = object;
    if (kind === "Secret") {
      const data = Object.entries(asRecord(object.stringData)).map(([key, text]) => [key, btoa(String(text))]);
      this.#post("/api/v1/namespaces/shop/secrets", {
        ...object,
        stringData: undefined,
        data: Object.fromEntries(data),
      });
      return;
    }
    const plural = `${String(kind).toLowerCase()}s`;
    const stored = this.#post(`/apis/compute-operator.dev/v1alpha1/namespaces/shop/${plural}`, object);
    const uid = String(asRecord(stored.metadata).uid);
    if (kind === "Compute") this.#link(stored, this.#endpoint(uid, asRecord(object.spec)));
    if (kind !== "ComputePool") return;
    const spec = asRecord(object.spec);
    for (let index = 0; index < Number(spec.replicas); index++) {
      const name = String(asRecord(object.metadata).name);
      const owner = { apiVersion: "compute-operator.dev/v1alpha1", kind, name, uid, controller: true };
      const metadata = { name: `${name}-${index}`, namespace: "shop", ownerReferences: [owner] };
      const member = { ...asRecord(spec.template), type: "read_only" };
      this.hold({ apiVersion: owner.apiVersion, kind: "Compute", metadata, spec: member });
    }
  }

  /** As the operator links it. */
  #link({ metadata }: Record<string, unknown>, endpointID: string): void {
    const path = `/apis/compute-operator.dev/v1alpha1/namespaces/shop/computes/${String(asRecord(metadata).name)}`;
    const finalizer = { op: "add", path: "/metadata/finalizers", value: [finalizers.endpoint] };
    const link = { op: "add", path: "/metadata/annotations", value: { [annotations.endpointID]: endpointID } };
    const contentType = "application/json-patch+json";
    this.#send({ method: "PATCH", path, contentType, body: [finalizer, link] });
  }

  #endpoint(uid: string, spec: Record<string, unknown>): string {
    const units = asRecord(spec.computeUnits);
    const { endpoint } = this.stage.shop.create({
      branch_id: String(spec.branchID),
      type: spec.type === "read_only" ? "read_only" : "read_write",
      name: markerOf(uid),
      ...(spec.computeUnits === undefined
        ? {}
        : { autoscaling_limit_min_cu: Number(units.min), autoscaling_limit_max_cu: Number(units.max) }),
    });
    this.stage.shop.finishOperations();
    return endpoint.id;
  }

  #post(path: string, body: unknown): Record<string, unknown> {
    return this.#send({ method: "POST", path, body });
  }

  #send(request: ClusterRequest): Record<string, unknown> {
    const { status, body } = this.server.handle(request);
    if (status >= 300) throw new Error(`${request.method} ${request.path}: ${status} ${JSON.stringify(body)}`);
    return asRecord(body);
  }

  run(command: "plan" | "apply", text: string, ...flags: string[]) {
    const file = this.stage.file("manifests.yaml", text);
    const config = this.stage.file("kubeconfig", kubeconfig);
    const yes = command === "apply" ? ["--yes"] : [];
    return this.stage.run(command, ["-f", file, "--kubeconfig", config, ...yes, ...flags]);
  }

  [Symbol.dispose](): void {
    this.stage[Symbol.dispose]();
  }
}

const fleet = documents(compute("shop-preview"), pool("shop-readers", 2));
const held = documents(connection, fleet);

describe("plan --kubeconfig", () => {
  test("shows nothing to do for the manifests that the cluster runs, with its connection and key", async () => {
    using beside = new Beside(held);
    const run = await beside.run("plan", fleet);
    expect(run).toMatchObject({ status: 0, err: "" });
    expect(run.out).toContain("Plan: 3 unchanged.");
  });

  test("shows what a changed manifest changes at the service, and what a smaller pool deletes", async () => {
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
    expect(run.out).toMatch(/= shop\/shop-readers-0 +none/);
  });

  test("says whose the primary is that a Compute of the cluster holds and no manifest declares", async () => {
    using beside = new Beside(held);
    const run = await beside.run("plan", compute("another"));
    expect(run.status).toBe(1);
    expect(run.out).toMatch(/! shop\/another +refuse +Conflict: .*shop\/shop-preview/);
  });

  test("refuses a change that the API server refuses", async () => {
    using beside = new Beside(held);
    const moved = compute("shop-preview").replace(project, "another-project");
    const run = await beside.run("plan", moved);
    expect(run.status).toBe(1);
    expect(run.err).toContain(
      `manifests.yaml:1: Compute shop/shop-preview: projectID is immutable and is ${project} in the cluster, so kubectl apply refuses another-project`,
    );
  });

  test("sends the cluster's key to no address that only a manifest names", async () => {
    using beside = new Beside(held);
    const elsewhere = documents(connection.slice(connection.indexOf("---\n") + 4), fleet);
    expect((await beside.run("plan", elsewhere)).status).toBe(0);
    const run = await beside.run("plan", elsewhere.replace(baseURL, "https://evil.example.com/api/v2"));
    expect(run).toMatchObject({ status: 1, out: "" });
    expect(run.err).toContain("the key in the cluster is sent only to the service that this connection names there");
  });

  test("takes the key from the environment where the Secret may not be read, and reads namespaces one by one", async () => {
    using beside = new Beside(held);
    beside.refused.add("/secrets/").add("/v1alpha1/computes").add("/api/v1/namespaces?").add("/clusterservice");
    const run = await beside.run("plan", fleet);
    expect(run.status).toBe(1);
    expect(run.err).toContain("Or set COMPUTE_OPERATOR_API_KEY.");
    beside.stage.env = { COMPUTE_OPERATOR_API_KEY: "org-key" };
    expect((await beside.run("plan", fleet, "--base-url", baseURL)).out).toContain("Plan: 3 unchanged.");
  });

  test("names the rights that it lacks", async () => {
    using beside = new Beside(held);
    beside.refused.add("/computes");
    const run = await beside.run("plan", fleet);
    expect(run).toMatchObject({ status: 1, out: "" });
    expect(run.err).toMatch(
      /the cluster at https:\/\/cluster\.test:6443 cannot be read: .*403.*Grant get and list of computes/,
    );
  });

  test("names the contexts that there are", async () => {
    using beside = new Beside(held);
    const run = await beside.run("plan", fleet, "--context", "prod");
    expect(run).toMatchObject({ status: 1, out: "" });
    expect(run.err).toContain('has no context "prod": it has main, other');
  });
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
      name: markerOf("0f6c1d1e-8d5b-4c57-9a3e-000000000009"),
    });
    beside.stage.shop.finishOperations();
    const run = await beside.run("apply", documents(fleet, compute("shop-new", "type: read_only", main)));
    expect(run.status).toBe(1);
    expect(beside.stage.writes).toEqual([]);
  });
});
