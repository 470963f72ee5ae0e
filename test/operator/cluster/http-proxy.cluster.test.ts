import { createServer } from "node:http";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { HttpTransport } from "../../../src/operator/cluster/http-transport.ts";
import { loadKubeConfig } from "../../../src/operator/cluster/kubeconfig.ts";
import { kubeconfig } from "../../control-plane/cluster.ts";
import { realClock } from "../../support/real-clock.ts";

/** A proxy that opens tunnels and writes down where to. */
async function startProxy() {
  const tunnels: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, socket) => {
    tunnels.push(request.url ?? "");
    const { hostname, port } = new URL(`http://${request.url}`);
    const onward = connect(Number(port), hostname, () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    for (const end of [socket, onward]) end.on("error", () => onward.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const address = proxy.address();
  if (typeof address !== "object" || address === null) throw new Error("the proxy has no port");
  const stop = () => {
    proxy.closeAllConnections();
    proxy.close();
  };
  return { url: `http://127.0.0.1:${address.port}`, tunnels, stop };
}

test("through the environment's proxy many requests and a watch share a handful of tunnels", async () => {
  const proxy = await startProxy();
  const connection = loadKubeConfig({ file: kubeconfig(), env: { HTTPS_PROXY: proxy.url } });
  const transport = new HttpTransport({ connection, clock: realClock, userAgent: "compute-operator/test" });
  const signal = new AbortController().signal;

  const get = () =>
    transport.request({ method: "GET", path: "/api/v1/namespaces/default" }, { signal, timeoutMs: 20_000 });
  const answers = await Promise.all(Array.from({ length: 100 }, get));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const watch = transport.watch(
    { path: "/api/v1/namespaces", query: { watch: "true" } },
    { signal, idleTimeoutMs: 5000 },
  );
  for await (const line of watch) {
    expect(line.type).toBe("ADDED");
    break;
  }

  expect(proxy.tunnels.length).toBeLessThanOrEqual(9);
  expect(new Set(proxy.tunnels)).toEqual(new Set([new URL(connection.server).host]));
  await transport.close();
  proxy.stop();
});
