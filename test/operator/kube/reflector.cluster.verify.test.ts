import { afterAll, beforeAll, expect, test } from "vitest";
import { Reflector } from "../../../src/operator/kube/reflector.ts";
import { type ControlPlane, startControlPlane } from "../../control-plane/control-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { realClock } from "../../support/real-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { type ConfigMap, configMap, configMaps } from "./config-maps.ts";
import { realClient } from "./real-client.ts";

let own: ControlPlane;
beforeAll(async () => {
  own = await startControlPlane();
});
afterAll(() => own.stop());

test("over restarts of the API server and a forgotten history a reflector ends up with what there is", async () => {
  await using reading = realClient(own.kubeconfig);
  await using writing = realClient(own.kubeconfig);
  const { client } = writing;
  const changes: string[] = [];
  const relists: string[] = [];
  const reflector = new Reflector<ConfigMap>({
    client: reading.client,
    kind: configMaps,
    namespace: "default",
    labelSelector: "test=reflector",
    clock: realClock,
    random: Math.random,
    log: silentLogger,
    pageSize: 2,
    onChange: ({ type, object }) => changes.push(`${type} ${object.metadata.name}`),
    onRelist: (cause) => relists.push(cause),
  });
  const create = (name: string) =>
    client.create(configMaps, configMap("default", name, { labels: { test: "reflector" } }));
  const remove = (name: string) => client.delete(configMaps, { namespace: "default", name });
  const names = () => reflector.store.list().map((object) => object.metadata.name);
  const reported = (...wanted: string[]) =>
    // While the API server is away, its waits between two tries grow to 30 s.
    eventually(`the changes ${wanted.join()}`, () => wanted.every((change) => changes.includes(change)) || undefined, {
      timeoutMs: 90_000,
    });

  for (const name of ["a", "b", "c"]) await create(name);
  const stop = new AbortController();
  const ended = reflector.run(stop.signal);
  await reflector.whenSynced(stop.signal);
  expect(names()).toEqual(["a", "b", "c"]);
  await create("d");
  await reported("added d");

  // What others write moves the cluster's version past what this watch has seen of it.
  const others = () => client.create(configMaps, configMap("default", `another-${relists.length}`));

  // An API server that has been restarted remembers nothing from before.
  await others();
  await own.killApiServer();
  await own.restartApiServer();
  await create("e");
  await remove("a");
  await reported("added e", "deleted a");
  expect(relists).toEqual(["start", "expired"]);

  // Nor does etcd, once it is compacted.
  await others();
  await own.killApiServer();
  await own.compactEtcd();
  await own.restartApiServer();
  await create("f");
  await remove("b");
  await reported("added f", "deleted b");
  expect(relists).toEqual(["start", "expired", "expired"]);
  await eventually("the same objects", async () => {
    const page = await client.listPage(configMaps, { namespace: "default", labelSelector: "test=reflector" });
    return page.items.length === names().length || undefined;
  });
  expect(names()).toEqual(["c", "d", "e", "f"]);
  expect(new Set(changes).size).toBe(changes.length);
  stop.abort();
  await ended;
});
