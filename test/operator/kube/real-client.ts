import { ClusterClient, type ClusterClientOptions } from "../../../src/operator/kube/client.ts";
import { HttpTransport } from "../../../src/operator/kube/http-transport.ts";
import { loadKubeConfig } from "../../../src/operator/kube/kubeconfig.ts";
import { realClock } from "../../support/real-clock.ts";

/** A client over real HTTP, closed at the end of its scope. */
export function realClient(kubeconfig: string, options: Partial<ClusterClientOptions> = {}) {
  const connection = loadKubeConfig({ file: kubeconfig, env: {} });
  const transport = new HttpTransport({ connection, clock: realClock, userAgent: "compute-operator/test" });
  const client = new ClusterClient(transport, {
    clock: realClock,
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    ...options,
  });
  return { client, transport, [Symbol.asyncDispose]: () => transport.close() };
}
