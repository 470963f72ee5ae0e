import { createServer, type Server } from "node:https";
import type { Authority } from "../support/authority.ts";
import { freePort } from "../support/ports.ts";

const groupVersion = "external.metrics.k8s.io/v1beta1";

/** Serves `external.metrics.k8s.io` over HTTPS: each metric has the value that the test gives it. */
export class ExternalMetrics implements AsyncDisposable {
  readonly port: number;
  /** By name of the metric. One that is not here cannot be read. */
  readonly values = new Map<string, number>();
  readonly #server: Server;

  static async start(authority: Authority): Promise<ExternalMetrics> {
    const metrics = new ExternalMetrics(await freePort(), authority);
    await new Promise<void>((resolve, reject) => {
      metrics.#server.once("error", reject).listen(metrics.port, "127.0.0.1", resolve);
    });
    return metrics;
  }

  private constructor(port: number, { server }: Authority) {
    this.port = port;
    this.#server = createServer(server, ({ url = "" }, response) => {
      const body = this.#answer(new URL(url, "https://metrics").pathname);
      response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(body ?? { kind: "Status", apiVersion: "v1", status: "Failure", code: 404 }));
    });
  }

  /** What registers it with the API server, which reaches it on the loopback address. */
  get manifests(): object[] {
    const service = { name: "external-metrics", namespace: "default" };
    const [group, version] = groupVersion.split("/");
    return [
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: service,
        spec: { type: "ExternalName", externalName: "localhost" },
      },
      {
        apiVersion: "apiregistration.k8s.io/v1",
        kind: "APIService",
        metadata: { name: `${version}.${group}` },
        spec: {
          service: { ...service, port: this.port },
          group,
          version,
          insecureSkipTLSVerify: true,
          groupPriorityMinimum: 100,
          versionPriority: 100,
        },
      },
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(path: string): object | undefined {
    if (path === `/apis/${groupVersion}`)
      return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: [] };
    const metricName = new RegExp(`^/apis/${groupVersion}/namespaces/[^/]+/([^/]+)$`).exec(path)?.[1] ?? "";
    const value = this.values.get(metricName);
    if (value === undefined) return undefined;
    const timestamp = new Date().toISOString().replace(/\.\d+Z$/, "Z");
    const item = { metricName, metricLabels: {}, timestamp, value: String(value) };
    return { kind: "ExternalMetricValueList", apiVersion: groupVersion, metadata: {}, items: [item] };
  }
}
