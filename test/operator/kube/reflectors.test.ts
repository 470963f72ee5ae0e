import { expect, test } from "vitest";
import { Reflectors } from "../../../src/operator/kube/reflectors.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { type ConfigMap, configMap, configMaps } from "./config-maps.ts";
import { MemoryCluster } from "./memory-cluster.ts";

test.each([
  [
    ["a", "b"],
    ["a/one", "b/one"],
  ],
  [["b"], ["b/one"]],
  [[], ["a/one", "b/one", "c/one"]],
])("the reflectors of the namespaces %j have the objects of each, and of no other", async (namespaces, expected) => {
  const cluster = new MemoryCluster();
  const create = (path: string, body: unknown) => cluster.server.handle({ method: "POST", path, body });
  for (const namespace of ["a", "b", "c"]) {
    create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    create(`/api/v1/namespaces/${namespace}/configmaps`, configMap(namespace, "one"));
  }
  const reflectors = new Reflectors<ConfigMap>(namespaces, {
    client: cluster.client(),
    kind: configMaps,
    clock: cluster.clock,
    random: () => 0.5,
    log: silentLogger,
    onChange: () => {},
    onRelist: () => {},
  });
  const stop = new AbortController();
  const running = reflectors.run(stop.signal);
  await cluster.clock.advance(100);
  const namesOf = (objects: readonly ConfigMap[]) =>
    objects.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`).toSorted();
  expect([reflectors.isServed(), namesOf(reflectors.list())]).toEqual([true, expected]);
  for (const namespace of ["a", "b", "c"]) {
    const isSeen = expected.includes(`${namespace}/one`);
    const found = reflectors.get(namespace, "one");
    expect([found !== undefined, reflectors.within(namespace).length]).toEqual([isSeen, isSeen ? 1 : 0]);
    expect(reflectors.byUid(found?.metadata.uid ?? "")).toBe(found);
  }
  stop.abort();
  await cluster.clock.advance(100);
  await running.catch(() => {});
});
