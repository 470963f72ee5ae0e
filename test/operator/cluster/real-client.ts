import { ClusterClient } from "../../../src/operator/cluster/client.ts";
import { HttpTransport } from "../../../src/operator/cluster/http-transport.ts";
import { loadKubeConfig } from "../../../src/operator/cluster/kubeconfig.ts";
import { realClock } from "../../support/real-clock.ts";

/** A client over real HTTP, closed at the end of its scope. */
export function realClient(kubeconfig: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  const connection = loadKubeConfig({ file: kubeconfig, env: {} });
  const transport = new HttpTransport({ connection, clock: realClock, userAgent: "compute-operator/test" });
  const client = new ClusterClient(transport, {
    clock: realClock,
    timeoutMs: options.timeoutMs ?? 10_000,
    signal: options.signal ?? new AbortController().signal,
  });
  return { client, transport, [Symbol.asyncDispose]: () => transport.close() };
}
