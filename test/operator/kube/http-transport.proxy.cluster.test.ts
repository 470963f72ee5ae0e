import { expect, test } from "vitest";
import { HttpTransport } from "../../../src/operator/kube/http-transport.ts";
import { loadKubeConfig } from "../../../src/operator/kube/kubeconfig.ts";
import { kubeconfig } from "../../control-plane/shared-control-plane.ts";
import { ConnectProxy } from "../../support/connect-proxy.ts";
import { realClock } from "../../support/real-clock.ts";

test("through the environment's proxy many requests and a watch share few tunnels", async () => {
  const proxy = await ConnectProxy.start();
  const connection = loadKubeConfig({ file: kubeconfig(), env: { HTTPS_PROXY: proxy.url } });
  const transport = new HttpTransport({ connection, clock: realClock, userAgent: "compute-operator/test" });
  const signal = new AbortController().signal;

  const get = () =>
    transport.request({ method: "GET", path: "/api/v1/namespaces/default" }, { signal, timeoutMs: 20_000 });
  const answers = await Promise.all(Array.from({ length: 100 }, get));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const watch = transport.watch(
    { path: "/api/v1/namespaces", query: { watch: "true" } },
    { signal, idleTimeoutMs: 60_000 },
  );
  for await (const line of watch) {
    expect(line.type).toBe("ADDED");
    break;
  }

  // As many as there are workers, and the watch.
  expect(proxy.tunnels.length).toBeLessThanOrEqual(17);
  expect(new Set(proxy.tunnels)).toEqual(new Set([new URL(connection.server).host]));
  await transport.close();
  proxy.stop();
});
