import { readFileSync } from "node:fs";
import { z } from "zod";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import type { Child } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/ports.ts";
import type { Image } from "./image.ts";
import { argsOf, installNamespace, type Rendered } from "./render.ts";

const account = "/var/run/secrets/kubernetes.io/serviceaccount";
const kubeconfigFile = z.object({
  clusters: z.tuple([
    z.object({
      cluster: z.object({
        "certificate-authority-data": z.string().optional(),
        "certificate-authority": z.string().optional(),
      }),
    }),
  ]),
});

export interface InstalledOptions {
  controlPlane: ControlPlane;
  image: Image;
  /** What was applied: its Deployment says how the operator is started. */
  objects: readonly Rendered[];
  namespace?: string;
  podName?: string;
}

/** A replica of the operator as its Deployment would start it: the image, its ServiceAccount's token, its arguments. */
export class InstalledOperator implements AsyncDisposable {
  readonly child: Child;
  readonly url: string;
  /** As the kubelet does it in time: the token is good for ten minutes. */
  readonly renewToken: () => Promise<void>;

  static async start({ controlPlane, image, objects, ...pod }: InstalledOptions): Promise<InstalledOperator> {
    const { namespace = installNamespace, podName = "compute-operator-0" } = pod;
    const options = controlPlane.admin;
    const renewToken = async () => {
      const asked = ["create", "token", "compute-operator", "-n", namespace, "--duration=10m"];
      image.mount(`${account}/token`, (await kubectl(asked, options)).trim());
    };
    await renewToken();
    image.mount(`${account}/ca.crt`, await authority(controlPlane.kubeconfig, options));
    image.mount(`${account}/namespace`, namespace);
    const { hostname, port } = new URL(controlPlane.url);
    const httpPort = await freePort();
    const own = [`--http-port=${httpPort}`, "--allowed-base-url=http://127.0.0.1:*/api/v2"];
    const args = argsOf(objects).map((arg) => arg.replace("$(POD_NAMESPACE)", namespace));
    const child = await image.start([...args, ...own], {
      // The kubelet writes an IPv6 address without brackets.
      KUBERNETES_SERVICE_HOST: hostname.replace(/^\[(.*)\]$/, "$1"),
      KUBERNETES_SERVICE_PORT: port,
      POD_NAME: podName,
      POD_NAMESPACE: namespace,
    });
    return new InstalledOperator(child, `http://127.0.0.1:${httpPort}`, renewToken);
  }

  private constructor(child: Child, url: string, renewToken: () => Promise<void>) {
    this.child = child;
    this.url = url;
    this.renewToken = renewToken;
  }

  /** Waits until the readiness probe would succeed. */
  async ready(): Promise<void> {
    await eventually(`the operator to be ready; it wrote:\n${this.child.tail()}`, async () => {
      if (!this.child.running) throw new Error(this.child.tail());
      return (await fetch(`${this.url}/readyz`)).ok || undefined;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child.kill();
  }
}

/** The certificate of the API server's authority, as Kubernetes mounts it beside the token. */
async function authority(kubeconfig: string, options: { kubeconfig: string; kubectl: string }): Promise<string> {
  const shown = await kubectl(["config", "view", "--raw", "-o", "json"], options);
  const [{ cluster }] = kubeconfigFile.parse(JSON.parse(shown)).clusters;
  const inline = cluster["certificate-authority-data"];
  if (inline !== undefined) return Buffer.from(inline, "base64").toString("utf8");
  return readFileSync(cluster["certificate-authority"] ?? kubeconfig, "utf8");
}
