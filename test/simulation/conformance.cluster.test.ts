import { randomBytes } from "node:crypto";
import { afterAll } from "vitest";
import { HttpTransport } from "../../src/operator/kube/http-transport.ts";
import { loadKubeConfig } from "../../src/operator/kube/kubeconfig.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { kubeconfig } from "../control-plane/shared-control-plane.ts";
import { eventually } from "../support/eventually.ts";
import { realClock } from "../support/real-clock.ts";
import { type Bench } from "./conformance/host.ts";
import { type Cluster, post } from "./conformance/kube.ts";
import { conformance } from "./conformance/suite.ts";
import { installWidgets, type Widgets } from "./conformance/widget.ts";

/** A control plane of its own, since forgetting history disturbs everybody else on it. */
let forgetful: Promise<ControlPlane> | undefined;
let shared: Promise<Widgets> | undefined;

conformance("the real kube-apiserver", {
  async open(): Promise<Bench> {
    const cluster = await newCluster(kubeconfig());
    shared ??= installWidgets(cluster, `${randomBytes(4).toString("hex")}.example.dev`);
    return { cluster, widgets: await shared };
  },
  async openOwnWidgets(): Promise<Bench> {
    const cluster = await newCluster(kubeconfig());
    return { cluster, widgets: await installWidgets(cluster, `${randomBytes(4).toString("hex")}.example.dev`) };
  },
  async openForgetful() {
    forgetful ??= startControlPlane();
    const controlPlane = await forgetful;
    const cluster = await newCluster(controlPlane.kubeconfig);
    const forgetHistory = async () => {
      await controlPlane.compactEtcd();
      await controlPlane.restartApiServer();
    };
    return {
      cluster,
      widgets: await installWidgets(cluster, `${randomBytes(4).toString("hex")}.example.dev`),
      forgetHistory,
    };
  },
});

const transports = new Map<string, HttpTransport>();

/** One connection pool per control plane. */
function transportTo(file: string): HttpTransport {
  const known = transports.get(file);
  if (known) return known;
  const connection = loadKubeConfig({ file, env: {} });
  const made = new HttpTransport({ connection, clock: realClock, userAgent: "conformance" });
  transports.set(file, made);
  return made;
}

afterAll(async () => {
  await Promise.all([...transports.values()].map((transport) => transport.close()));
  await (await forgetful)?.stop();
});

/** A connection to a control plane, in a new namespace. */
async function newCluster(file: string): Promise<Cluster> {
  const namespace = `conformance-${randomBytes(4).toString("hex")}`;
  const cluster: Cluster = {
    transport: transportTo(file),
    namespace,
    // The garbage collector learns of a new kind within half a minute.
    eventually: (what, check) => eventually(what, check, { timeoutMs: 90_000 }),
  };
  const made = await post(cluster, "/api/v1/namespaces", { metadata: { name: namespace } });
  if (made.status !== 201) throw new Error(`the namespace was refused: ${JSON.stringify(made.body)}`);
  return cluster;
}
