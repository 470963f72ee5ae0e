import { afterEach, beforeEach, expect, test } from "vitest";
import { ClusterClient } from "../../../src/operator/kube/client.ts";
import { HttpTransport } from "../../../src/operator/kube/http-transport.ts";
import { listAll } from "../../../src/operator/kube/list-all.ts";
import { realClock } from "../../support/real-clock.ts";
import { configMap, configMaps } from "./config-maps.ts";
import { HostileServer, json } from "./hostile-server.ts";

const maxBodyBytes = 10_000;
let server: HostileServer;
let transport: HttpTransport;

beforeEach(async () => {
  server = new HostileServer();
  const url = await server.start();
  const connection = { server: url, proxy: undefined, credentials: () => Promise.resolve({ headers: {}, tls: {} }) };
  transport = new HttpTransport({ connection, clock: realClock, userAgent: "a-test", maxBodyBytes });
});

afterEach(async () => {
  await transport.close();
  await server.stop();
});

/** Serves objects of these sizes, in bytes, page by page. */
function serve(sizes: readonly number[]): void {
  const all = sizes.map((size, at) => ({ ...configMap("eu", `map-${at}`), data: { filling: "x".repeat(size) } }));
  server.behaviour = (request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://server");
    const from = Number(searchParams.get("continue") ?? 0);
    const until = from + Number(searchParams.get("limit"));
    const metadata = { resourceVersion: "7", ...(until < all.length && { continue: String(until) }) };
    json(response, 200, { metadata, items: all.slice(from, until) });
  };
}

function list() {
  const signal = new AbortController().signal;
  const client = new ClusterClient(transport, { clock: realClock, timeoutMs: 5000, signal });
  return listAll(client, configMaps, { limit: 500 }, (item) => item);
}

test("large objects are read in smaller pages: a tenant's keep nobody else's from being seen", async () => {
  serve(Array.from({ length: 40 }, (_, at) => (at === 20 ? 9000 : 1000)));
  const { items, resourceVersion } = await list();
  expect(items).toMatchObject(Array.from({ length: 40 }, (_, at) => ({ metadata: { name: `map-${at}` } })));
  expect(resourceVersion).toBe("7");
});

test("a list fails where one object alone is more than a page", async () => {
  serve([100, 20_000]);
  await expect(list()).rejects.toThrow(`the answer is larger than ${maxBodyBytes} bytes`);
});
