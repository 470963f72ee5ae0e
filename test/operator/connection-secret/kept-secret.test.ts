import { describe, expect, test } from "vitest";
import { keptApiKey } from "../../../src/operator/connection/kept-api-key.ts";
import { keptConnectionSecret } from "../../../src/operator/connection-secret/kept-secret.ts";
import { ClusterClient } from "../../../src/operator/kube/client.ts";
import type { ClusterTransport } from "../../../src/operator/kube/transport.ts";
import { Informers } from "../../../src/operator/manager/informers.ts";
import { createMetrics } from "../../../src/operator/metrics/metrics.ts";
import type { Secret } from "../../../src/operator/resources/secret.ts";
import { uidOf } from "../../support/builders.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { noLines } from "../kube/reflector-world.ts";
import { self, setUp } from "./keeping.ts";

const label = "compute-operator.dev/compute";
const large = "x".repeat(1_000_000);

/** A Secret of anybody's, made as large as it can be wherever it can. */
function hostile(n: number, type: string): Secret {
  const uid = uidOf(`s${n}`);
  const owner = { apiVersion: "v1", kind: large, name: large, uid: uidOf("c") };
  return {
    apiVersion: "v1",
    kind: "Secret",
    type,
    metadata: {
      name: `s-${n}`,
      namespace: "evil",
      uid,
      resourceVersion: "1",
      labels: { [label]: uidOf("c"), [`a.${large}`]: "x" },
      annotations: { note: large, "compute-operator.dev/built-from": large },
      ownerReferences: [
        { ...owner, uid: uidOf("d") },
        { ...owner, kind: "Compute", name: "c" },
      ],
    },
    data: { uri: large, other: large },
  };
}

function bytesOf(kept: unknown): number {
  return JSON.stringify(kept).length;
}

describe("a Secret in the cache", () => {
  test.each(["Opaque", "servicebinding.io/postgresql"])(
    "a Secret of type %s with our label takes next to nothing, whatever somebody put into it",
    (type) => {
      expect(bytesOf(keptConnectionSecret(hostile(1, type)))).toBeLessThan(1500);
    },
  );

  test("a Secret of ours holds what the operator wrote, and nothing of others", async () => {
    const { keep, stored, change } = setUp();
    await keep(self);
    change([
      { op: "add", path: "/metadata/labels/theirs", value: "x" },
      { op: "add", path: "/metadata/annotations/theirs", value: large.slice(0, 200_000) },
    ]);
    const [whole] = stored();
    if (whole === undefined) throw new Error("no Secret was written");
    const kept = keptConnectionSecret(whole);
    expect(Object.keys(kept.data ?? {})).toEqual(["uri"]);
    expect(kept.data?.["uri"]).toBe(whole.data?.["uri"]);
    expect(kept.dataDigest).toBe(whole.metadata.annotations?.["compute-operator.dev/data-sha256"]);
    expect(kept.metadata).toEqual({
      name: "shop-db",
      namespace: "default",
      uid: whole.metadata.uid,
      resourceVersion: whole.metadata.resourceVersion,
      labels: { [label]: self.metadata.uid },
      annotations: {
        "compute-operator.dev/built-from": whole.metadata.annotations?.["compute-operator.dev/built-from"],
        "compute-operator.dev/data-sha256": kept.dataDigest,
      },
      ownerReferences: whole.metadata.ownerReferences,
    });
  });

  test("a repaired Secret keeps the labels and annotations of others, which the cache does not have", async () => {
    const { keep, stored, change } = setUp();
    await keep(self);
    change([
      { op: "add", path: "/metadata/labels/theirs", value: "x" },
      { op: "add", path: "/metadata/annotations/theirs", value: "y" },
      { op: "remove", path: "/data/host" },
    ]);
    await keep(self);
    const [repaired] = stored();
    expect(repaired?.data).toHaveProperty("host");
    expect(repaired?.metadata.labels).toHaveProperty("theirs", "x");
    expect(repaired?.metadata.annotations).toHaveProperty("theirs", "y");
  });

  test("a Secret with an API key holds its values as far as one can be a key, and no labels or annotations", () => {
    const { metadata, ...rest } = hostile(1, "compute-operator.dev/api-key");
    const finalizers = ["compute-operator.dev/in-use", ...Array.from({ length: 200 }, (_, n) => `example.com/${n}`)];
    const data = { "api-key": "a2V5", long: large, [large]: "x", after: "eA==" };
    const kept = keptApiKey({ ...rest, data, metadata: { ...metadata, finalizers } });
    expect(kept.data).toEqual({ "api-key": "a2V5", long: large.slice(0, 4096) });
    expect(kept.metadata.finalizers).toEqual(finalizers.slice(0, 100));
    expect(Object.keys(kept.metadata).toSorted()).toEqual([
      "finalizers",
      "name",
      "namespace",
      "resourceVersion",
      "uid",
    ]);
  });
});

test("250 Secrets of a megabyte with our label, and as many of an API key's type, leave next to nothing in the caches", async () => {
  const clock = new VirtualClock();
  const items = (type: string) => Array.from({ length: 250 }, (_, n) => hostile(n, type));
  const transport: ClusterTransport = {
    request: async ({ path, query }) => {
      const type = query?.["labelSelector"] === undefined ? "compute-operator.dev/api-key" : "Opaque";
      return {
        status: 200,
        body: { metadata: { resourceVersion: "1" }, items: path.endsWith("/secrets") ? items(type) : [] },
      };
    },
    watch: () => noLines,
  };
  const stop = new AbortController();
  const client = new ClusterClient(transport, { clock, timeoutMs: 1000, signal: stop.signal });
  const shared = { client, clock, random: () => 0.5, log: silentLogger, metrics: createMetrics() };
  const informers = new Informers({ ...shared, namespaces: [], selects: () => true });
  const running = informers.run(stop.signal);
  await clock.advance(1000);
  const kept = [informers.connectionSecrets.list(), informers.apiKeys.list()];
  expect(kept.map((list) => list.length)).toEqual([250, 250]);
  expect(bytesOf(kept[0])).toBeLessThan(250_000);
  expect(bytesOf(kept[1])).toBeLessThan(250 * 10_000);
  stop.abort();
  await clock.advance(60_000);
  await running;
});
