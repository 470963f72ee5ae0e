import { describe, expect, test } from "vitest";
import { ConnectionSecrets } from "../../../src/operator/connection-secret/connection-secret.ts";
import { keptConnectionSecret } from "../../../src/operator/connection-secret/kept-secret.ts";
import type { SecretCache } from "../../../src/operator/connection-secret/secret-cache.ts";
import { ClusterError } from "../../../src/operator/kube/errors.ts";
import type { Secret } from "../../../src/operator/resources/secret.ts";
import { compute, uidOf } from "../../support/builders.ts";
import { secretCache } from "../../support/secret-cache.ts";
import { bound, host, secrets, self, setUp, withDatabase } from "./keeping.ts";

const { uid } = self.metadata;
const label = "compute-operator.dev/compute";
const status = (code: 403 | 500) => ({ kind: "status", afterMs: 0, status: code, message: "a policy" }) as const;

/** A Secret of this Compute, until a test says otherwise. */
function secret(metadata: Partial<Secret["metadata"]> = {}, type = "servicebinding.io/postgresql"): Secret {
  const owner = { apiVersion: "compute-operator.dev/v1alpha1", kind: "Compute", name: "shop", uid };
  const own = { name: "shop-db", namespace: "default", uid: uidOf("s"), resourceVersion: "1" };
  return {
    apiVersion: "v1",
    kind: "Secret",
    type,
    metadata: { ...own, labels: { [label]: uid }, ownerReferences: [owner], ...metadata },
  };
}

/** True if the Secret that the Compute names is ours among those that the watch delivers. */
function stands(ours: SecretCache["ours"]): boolean {
  const { client, cluster } = setUp();
  const { signal } = new AbortController();
  const kept = new ConnectionSecrets({ cluster: client, clock: cluster.clock, signal, cache: secretCache(ours) });
  return kept.standing({ namespace: "default", name: "shop-db" }, self) !== undefined;
}

describe("a Secret is ours", () => {
  const owner = { apiVersion: "v1", kind: "Compute", name: "shop", uid };

  test.each<[string, Secret, boolean]>([
    ["by label, owner and type", secret(), true],
    ["besides others' owners", secret({ ownerReferences: [{ ...owner, uid: uidOf("b") }, owner] }), true],
    ["not without the label", secret({ labels: {} }), false],
    ["not with the label of another Compute", secret({ labels: { [label]: uidOf("b") } }), false],
    ["not without an owner", secret({ ownerReferences: [] }), false],
    ["not with another owner", secret({ ownerReferences: [{ ...owner, uid: uidOf("b") }] }), false],
    ["not of another type", secret({}, "Opaque"), false],
    ["not where another name is asked for", secret({ name: "other" }), false],
  ])("a Secret is ours %s", (_, one, expected) => {
    expect(stands(() => [one])).toBe(expected);
    expect(stands((namespace) => (namespace === "default" ? [secret({ name: "x" }), one] : []))).toBe(expected);
  });

  test("a Secret is ours only as far as there is a right to read it", () => {
    expect(stands(() => undefined)).toBe(false);
  });
});

describe("a Secret is made", () => {
  test("a Secret is made as a whole object, which its Compute owns and does not keep from being deleted", async () => {
    const { keep, cluster } = setUp();
    await keep(self);
    const made = cluster.requests.find(({ method }) => method === "POST");
    expect(made?.body).toMatchObject({
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        labels: { [label]: uid, "app.kubernetes.io/managed-by": "compute-operator" },
        ownerReferences: [
          {
            apiVersion: "compute-operator.dev/v1alpha1",
            kind: "Compute",
            name: "shop",
            uid,
            controller: true,
            blockOwnerDeletion: false,
          },
        ],
      },
    });
  });

  test("a Secret is looked for among those with this Compute's label where one of its name stands", async () => {
    const { keep, state, cluster } = setUp();
    await keep(self);
    state.lagging = true;
    cluster.requests.length = 0;
    expect(await keep(self)).toEqual(bound);
    const asked = cluster.requests.find(({ method }) => method === "GET");
    expect(asked).toMatchObject({ path: secrets, query: { labelSelector: `${label}=${uid}` } });
  });

  test("a Secret is made again after it was deleted, with an event that says what to do instead", async () => {
    const { keep } = setUp();
    expect(await keep({ ...self, status: { binding: { name: "shop-db" } } })).toEqual({
      ...bound,
      event: {
        type: "Warning",
        reason: "SecretUpdated",
        message:
          'Secret "shop-db" was deleted outside the operator, and was created again. To do without it, remove spec.connectionSecret.',
      },
    });
  });
});

describe("a write of a Secret that the API server does not accept", () => {
  const withoutRight = 'Bind the operator\'s Role for Secrets in namespace "default".';

  test("a refusal for lack of a right is reported, of a new Secret as of one that stands", async () => {
    const { keep, cluster, change } = setUp();
    const failed = { kind: "failed", reason: "Forbidden", message: expect.stringContaining(withoutRight) };
    cluster.fate = ({ method }) => (method === "POST" ? status(403) : undefined);
    expect(await keep(self)).toMatchObject(failed);
    cluster.fate = () => undefined;
    await keep(self);
    change([{ op: "remove", path: "/data/password" }]);
    cluster.fate = ({ method }) => (method === "PATCH" ? status(403) : undefined);
    expect(await keep(self)).toMatchObject(failed);
  });

  test("a refusal of a Secret that is not valid is reported with what it says, and what to do", async () => {
    const { keep, change, client } = setUp();
    await keep(self);
    change([{ op: "remove", path: "/data/password" }]);
    // As of an immutable Secret, a rule that the API server in memory does not keep.
    const message = "data is immutable";
    const refused = new ClusterError({ status: 422, reason: "Invalid", subject: "shop-db", message });
    client.patch = () => Promise.reject(refused);
    expect(await keep(self)).toMatchObject({
      kind: "failed",
      reason: "Rejected",
      message: expect.stringMatching(/^The Kubernetes API server refused to store Secret "shop-db": .*delete it/),
    });
  });

  test("a refusal of a Secret in another namespace names that one too", async () => {
    const { keep, client } = setUp();
    const refused = new ClusterError({ status: 422, reason: "Invalid", subject: "shop-db", message: "not valid" });
    client.create = () => Promise.reject(refused);
    const spec = { connectionSecret: { ...withDatabase.connectionSecret, namespace: "default" } };
    expect(await keep(compute({ namespace: "shop", spec }))).toMatchObject({
      reason: "Rejected",
      message: expect.stringContaining('Secret "default/shop-db"'),
    });
  });

  test("a refusal for any other reason is tried again", async () => {
    const { keep, cluster } = setUp();
    cluster.fate = ({ method }) => (method === "POST" ? status(500) : undefined);
    await expect(keep(self)).rejects.toMatchObject({ status: 500 });
  });

  test("a refusal is no removal of the Secret that stood before", async () => {
    const { keep, cluster, stored } = setUp();
    await keep(compute({ namespace: "default", spec: { connectionSecret: { name: "first" } } }));
    cluster.fate = ({ method }) => (method === "DELETE" ? status(403) : undefined);
    expect(await keep(self)).toMatchObject({ kind: "failed", reason: "Forbidden" });
    expect(stored().map(({ metadata }) => metadata.name)).toContain("first");
  });

  test("a Secret without any right to Secrets is asked for nothing", async () => {
    const { keep, state, cluster } = setUp();
    state.ours = () => undefined;
    expect(await keep(self)).toEqual({
      kind: "failed",
      reason: "Forbidden",
      message:
        "The operator has no right to Secrets in this namespace, so it cannot write the one that spec.connectionSecret names. Remove spec.connectionSecret, or have an administrator bind the operator's ClusterRole for Secrets.",
    });
    expect(await keep(compute({ namespace: "default" }))).toEqual({ kind: "none" });
    expect(cluster.requests).toEqual([]);
    state.ours = () => [];
    cluster.fate = () => status(403);
    expect(await keep(self)).toMatchObject({ message: expect.stringContaining(withoutRight) });
  });
});

describe("an old view of a Secret", () => {
  test("an old view is no reason to write over what somebody wrote since", async () => {
    const { keep, state, stored, change } = setUp();
    await keep(self);
    change([{ op: "add", path: "/data/more", value: "eA==" }]);
    const old = stored();
    state.ours = () => old;
    change([{ op: "add", path: "/metadata/labels/theirs", value: "x" }]);
    await expect(keep(self)).rejects.toThrow(/\S/);
    expect(stored()[0]?.metadata.labels).toHaveProperty("theirs", "x");
    expect(stored()[0]?.data).toHaveProperty("more");
  });

  test("an old view is no reason to remove another Secret of the same name that was made since", async () => {
    const { keep, state, stored, cluster, ownedByOther } = setUp();
    await keep(self);
    const old = stored();
    state.ours = () => old;
    cluster.server.handle({ method: "DELETE", path: `${secrets}/shop-db` });
    ownedByOther({});
    await keep(compute({ namespace: "default" })).catch(() => undefined);
    expect(stored().map(({ metadata }) => metadata.name)).toEqual(["shop-db"]);
  });
});

describe("the content of a Secret", () => {
  test("the content of a Secret is the same in whatever order the API server shows it", async () => {
    const { keep, state, stored, writes, service } = setUp();
    await keep(self);
    const asked = service.requests.length;
    for (const order of [1, -1]) {
      state.ours = () =>
        stored().map((one) => {
          const data = Object.entries(one.data ?? {}).toSorted(([a], [b]) => order * a.localeCompare(b));
          return keptConnectionSecret({ ...one, data: Object.fromEntries(data) });
        });
      expect(await keep(self)).toEqual(bound);
    }
    expect([service.requests.length, writes()]).toEqual([asked, ["POST"]]);
  });

  test("a Secret that asks for no database costs nothing while it stands", async () => {
    const { keep, writes } = setUp();
    const plain = compute({ namespace: "default", spec: { connectionSecret: { name: "shop-db" } } });
    await keep(plain);
    expect(await keep(plain)).toEqual(bound);
    expect(writes()).toEqual(["POST"]);
  });

  test("says what it was made from: a template counts only where there is one, or each Secret were written again", async () => {
    const { keep, stored } = setUp();
    const madeFrom = () => JSON.parse(stored()[0]?.metadata.annotations?.["compute-operator.dev/built-from"] ?? "");
    await keep(self);
    expect(madeFrom()).toEqual(["ep-one", host, "br-main", "shop", "app"]);
    const template = { labels: { team: "shop" } };
    await keep({ ...self, spec: { ...self.spec, connectionSecret: { ...withDatabase.connectionSecret, template } } });
    expect(madeFrom()).toEqual(["ep-one", host, "br-main", "shop", "app", template]);
  });

  const annotation = "/metadata/annotations/compute-operator.dev~1built-from";
  test.each([
    ["removed", { op: "remove", path: annotation }],
    ["replaced by no JSON", { op: "replace", path: annotation, value: "{" }],
    ["replaced by other JSON", { op: "replace", path: annotation, value: "null" }],
  ])("a Secret is written again where what it was made from was %s", async (_, op) => {
    const { keep, read, stored, change } = setUp();
    await keep(self);
    const [before, made] = [read(), stored()[0]?.metadata.annotations];
    change([op, { op: "add", path: "/metadata/labels/theirs", value: "x" }]);
    expect(await keep(self)).toEqual(bound);
    expect([read(), stored()[0]?.metadata.annotations]).toEqual([before, made]);
    expect(stored()[0]?.metadata.labels).toHaveProperty("theirs", "x");
  });

  test("a Secret is written again where all of it was removed", async () => {
    const { keep, read, change } = setUp();
    await keep(self);
    const before = read();
    change([{ op: "remove", path: "/data" }]);
    expect(await keep(self)).toMatchObject({ ...bound, event: { reason: "SecretUpdated" } });
    expect(read()).toEqual(before);
  });
});
