import { describe, expect, test } from "vitest";
import { keptConnectionSecret } from "../../../src/operator/connection-secret/kept-secret.ts";
import { placeOfSecret } from "../../../src/operator/connection-secret/place.ts";
import { compute, uidOf } from "../../support/builders.ts";
import { bound, setUp, withDatabase } from "./keeping.ts";

const mark = "compute-operator.dev/secret-of";
const label = "compute-operator.dev/compute";
const former = uidOf("f");

const connectionSecret = { ...withDatabase.connectionSecret, namespace: "default" };
/** A Compute of `shop` whose Secret is to lie in `default`. */
const self = compute({ namespace: "shop", name: "db", spec: { connectionSecret } });
const { uid } = self.metadata;

/** What a former Compute of this namespace and name left. */
const left = { labels: { [label]: former }, annotations: { [mark]: `shop/db/${former}` } };
const type = "servicebinding.io/postgresql";

describe("a Secret of a former Compute of the same namespace and name", () => {
  test("a Secret whose Compute is gone is taken over, with all its marks", async () => {
    const { keep, cluster, stored, read } = setUp();
    post(cluster, left);
    expect(await keep(self)).toEqual(bound);
    expect(stored()[0]?.metadata.labels?.[label]).toBe(uid);
    expect(stored()[0]?.metadata.annotations?.[mark]).toBe(`shop/db/${uid}`);
    expect(read()).toMatchObject({ username: "app" });
  });

  test("a Secret whose Compute lives is not taken over", async () => {
    const { keep, cluster, read } = setUp({ isLive: (one) => one === former });
    post(cluster, left);
    expect(await keep(self)).toMatchObject({ kind: "failed", reason: "Conflict" });
    expect(read()).toEqual({ own: "x" });
  });

  test.each<[string, object]>([
    ["another label than its annotation", { ...left, labels: { [label]: uidOf("g") } }],
    ["the annotation of another namespace", { ...left, annotations: { [mark]: `shop2/db/${former}` } }],
    [
      "its own label and the annotation of another name",
      { labels: { [label]: uid }, annotations: { [mark]: `shop/x/${uid}` } },
    ],
    ["an annotation that is too long", { ...left, annotations: { [mark]: `shop/db/${"x".repeat(400)}/${former}` } }],
  ])("a Secret with %s is not taken over", async (_, metadata) => {
    const { keep, cluster, read } = setUp();
    post(cluster, metadata);
    expect(await keep(self)).toMatchObject({ kind: "failed", reason: "Conflict" });
    expect(read()).toEqual({ own: "x" });
  });

  test("a Secret in the Compute's own namespace is never taken over by an annotation", async () => {
    const { keep, cluster, read } = setUp();
    const here = compute({ namespace: "default", name: "db", spec: withDatabase });
    post(cluster, { ...left, annotations: { [mark]: `default/db/${former}` } });
    expect(await keep(here)).toMatchObject({ kind: "failed", reason: "Conflict" });
    expect(read()).toEqual({ own: "x" });
  });
});

describe("a Secret in another namespace", () => {
  test("a Secret elsewhere bears no label and no annotation of the template, whatever a definition lets through", async () => {
    const { keep, stored } = setUp();
    const template = { labels: { "argocd.argoproj.io/secret-type": "cluster" }, annotations: { note: "x" } };
    const spec = { ...self.spec, connectionSecret: { ...connectionSecret, template } };
    expect(await keep({ ...self, spec })).toEqual(bound);
    const { labels = {}, annotations = {} } = stored()[0]?.metadata ?? {};
    expect(Object.keys(labels).toSorted()).toEqual(["app.kubernetes.io/managed-by", label]);
    expect(Object.keys(annotations).every((key) => key.startsWith("compute-operator.dev/"))).toBe(true);
  });

  test("a Secret elsewhere is left alone, and the service is not asked, where the namespace does not agree or cannot be seen", async () => {
    for (const [isLabelled, reason] of [
      [false, "SecretNotAllowed"],
      [undefined, "Forbidden"],
    ] as const) {
      const { keep, stored, service } = setUp({ isLabelled: () => isLabelled });
      expect(await keep(self)).toMatchObject({ kind: "failed", reason });
      expect([stored(), service.requests]).toEqual([[], []]);
    }
  });

  test("the password of a Secret elsewhere is nobody's to change where the namespace does not agree any more", async () => {
    const agrees = { now: true };
    const { keep, kept } = setUp({ isLabelled: () => agrees.now });
    await keep(self);
    expect(await kept.recordedNow(self)).toMatchObject({ role: "app" });
    agrees.now = false;
    expect([await kept.recordedNow(self), kept.recorded(self)]).toEqual([undefined, undefined]);
  });

  test("a Secret elsewhere is asked of the namespace by the label that names the Compute's", async () => {
    const asked: string[][] = [];
    const { keep } = setUp({ isLabelled: (...of) => asked.push(of) > 0 });
    await keep(self);
    expect(asked).toEqual([["default", "secrets-from.compute-operator.dev/shop"]]);
  });

  test("a Secret elsewhere takes next to nothing in the cache, however large somebody makes its marks", () => {
    const large = "x".repeat(1_000_000);
    const metadata = { name: "s", namespace: "evil", uid: uidOf("s"), resourceVersion: "1" };
    const marks = { labels: { [label]: uid }, annotations: { [mark]: `${large}/${uid}`, note: large } };
    const kept = keptConnectionSecret({ type, metadata: { ...metadata, ...marks }, data: { uri: large } });
    expect(JSON.stringify(kept).length).toBeLessThan(1500);
    const ours = { ...marks, annotations: { [mark]: `shop/db/${uid}`, note: large } };
    const own = keptConnectionSecret({ type, metadata: { ...metadata, ...ours }, data: { other: large } });
    expect(own.metadata.annotations).toEqual({ [mark]: `shop/db/${uid}` });
    expect(JSON.stringify(own).length).toBeLessThan(1500);
  });

  test("the place of a Secret is the Compute's own namespace unless the spec names one", () => {
    expect(placeOfSecret(compute({ namespace: "shop", spec: withDatabase }))).toEqual({
      namespace: "shop",
      name: "shop-db",
    });
    expect(placeOfSecret(self)).toEqual({ namespace: "default", name: "shop-db" });
    expect(placeOfSecret(compute({ namespace: "shop" }))).toBeUndefined();
  });
});

function post(cluster: ReturnType<typeof setUp>["cluster"], metadata: object): void {
  cluster.server.handle({
    method: "POST",
    path: "/api/v1/namespaces/default/secrets",
    body: { type, metadata: { name: "shop-db", ...metadata }, data: { own: "eA==" } },
  });
}
