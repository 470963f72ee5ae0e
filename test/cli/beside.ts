import { parseAllDocuments } from "yaml";
import type { ClusterRequest } from "../../src/operator/kube/transport.ts";
import { asRecord } from "../../src/operator/objects/record.ts";
import { annotations, finalizers } from "../../src/operator/resources/names.ts";
import { type Fleet, fleetOf, signatureOf } from "../../src/operator/resources/signature.ts";
import { ApiServer } from "../simulation/api-server/server.ts";
import { InMemoryClusterTransport } from "../simulation/api-server/transport.ts";
import { seededRandom } from "../simulation/random.ts";
import { installCRDs } from "../support/shipped-crd.ts";
import { Stage } from "./command-stage.ts";

export const kubeconfig = `apiVersion: v1
kind: Config
current-context: main
clusters: [{name: main, cluster: {server: "https://cluster.test:6443"}}]
contexts: [{name: main, context: {cluster: main, user: me, namespace: shop}}, {name: other, context: {cluster: main, user: me}}]
users: [{name: me, user: {token: t}}]
`;

/** A cluster whose operator keeps one primary and a pool, and the command beside it. */
export class Beside implements Disposable {
  readonly stage = new Stage();
  readonly server: ApiServer;
  /** Answers in place of the API server. */
  readonly refused = new Set<string>();
  readonly #fleet: Fleet | undefined;

  constructor(held: string, { fleet }: { fleet?: string } = {}) {
    this.#fleet = fleet === undefined ? undefined : fleetOf(fleet);
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
    const plural = kind === "Branch" ? "branches" : `${String(kind).toLowerCase()}s`;
    const stored = this.#post(`/apis/compute-operator.dev/v1alpha1/namespaces/shop/${plural}`, object);
    const uid = String(asRecord(stored.metadata).uid);
    if (kind === "Compute") this.#link(stored, this.endpoint(stored.metadata, asRecord(object.spec)));
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

  /** Stores a Compute that the operator has not seen yet. */
  post(text: string): void {
    for (const document of parseAllDocuments(text))
      this.#post("/apis/compute-operator.dev/v1alpha1/namespaces/shop/computes", document.toJS());
  }

  /** As the operator links it. */
  #link({ metadata }: Record<string, unknown>, endpointID: string): void {
    const path = `/apis/compute-operator.dev/v1alpha1/namespaces/shop/computes/${String(asRecord(metadata).name)}`;
    const finalizer = { op: "add", path: "/metadata/finalizers", value: [finalizers.endpoint] };
    const link = {
      op: "add",
      path: "/metadata/annotations",
      value: { ...asRecord(asRecord(metadata).annotations), [annotations.endpointID]: endpointID },
    };
    const contentType = "application/json-patch+json";
    this.send({ method: "PATCH", path, contentType, body: [finalizer, link] });
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const value = [{ type: "Ready", status: "True", reason: "Active", message: "", lastTransitionTime }];
    const conditions = { op: "add", path: "/status/conditions", value };
    this.send({ method: "PATCH", path: `${path}/status`, contentType, body: [conditions] });
  }

  /** As the operator makes it for the Compute with this metadata; answers its id. */
  endpoint(meta: unknown, spec: Record<string, unknown>): string {
    const { name, namespace, uid } = asRecord(meta);
    const metadata = { name: String(name), namespace: String(namespace), uid: String(uid), resourceVersion: "" };
    const units = asRecord(spec.computeUnits);
    const { endpoint } = this.stage.shop.create({
      branch_id: String(spec.branchID),
      type: spec.type === "read_only" ? "read_only" : "read_write",
      name: signatureOf({ metadata }, this.#fleet),
      ...(spec.computeUnits === undefined
        ? {}
        : { autoscaling_limit_min_cu: Number(units.min), autoscaling_limit_max_cu: Number(units.max) }),
    });
    this.stage.shop.finishOperations();
    return endpoint.id;
  }

  #post(path: string, body: unknown): Record<string, unknown> {
    return this.send({ method: "POST", path, body });
  }

  send(request: ClusterRequest): Record<string, unknown> {
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
