import { describe, expect, test } from "vitest";
import { Finalizers } from "../../../src/operator/connection/finalizers.ts";
import type { ClusterRequest } from "../../../src/operator/kube/transport.ts";
import { type Compute, parseCompute } from "../../../src/operator/resources/compute.ts";
import type { Secret } from "../../../src/operator/resources/secret.ts";
import { parseServiceConnection, type ServiceConnection } from "../../../src/operator/resources/service-connection.ts";
import { installCRDs } from "../../support/shipped-crd.ts";
import { MemoryCluster } from "../kube/memory-cluster.ts";

const ours = "/apis/compute-operator.dev/v1alpha1/namespaces/default";
const secretsPath = "/api/v1/namespaces/default/secrets";
const apiVersion = "compute-operator.dev/v1alpha1";
const inUse = "compute-operator.dev/in-use";

/** An API server in memory; the cache has what the server has, but for what a test says. */
function setUp() {
  const cluster = new MemoryCluster();
  const { server } = cluster;
  installCRDs(server);
  const post = (path: string, body: object) => server.handle({ method: "POST", path, body });
  const items = (path: string): unknown[] => {
    const { body } = server.handle({ method: "GET", path });
    return typeof body === "object" && body !== null && "items" in body && Array.isArray(body.items) ? body.items : [];
  };
  const isSecret = (raw: unknown): raw is Secret => typeof raw === "object" && raw !== null && "metadata" in raw;
  const secrets = () => items(secretsPath).filter(isSecret);
  const connections = () =>
    items(`${ours}/serviceconnections`).flatMap((raw) => {
      const parsed = parseServiceConnection(raw);
      return parsed.ok ? [parsed.value] : [];
    });
  const computes = () =>
    items(`${ours}/computes`).flatMap((raw) => {
      const parsed = parseCompute(raw);
      return parsed.ok ? [parsed.value] : [];
    });
  const shown: { connections?: ServiceConnection[]; secrets?: Secret[]; users?: Compute[]; uninstalling: boolean } = {
    uninstalling: false,
  };
  const finalizers = new Finalizers({
    cluster: cluster.client(),
    cache: {
      connectionsOf: () => shown.connections ?? connections(),
      secret: (_, name) => (shown.secrets ?? secrets()).find(({ metadata }) => metadata.name === name),
      secretsOf: () => shown.secrets ?? secrets(),
      usersOf: (_, name) => (shown.users ?? computes()).filter(({ spec }) => spec.connectionRef.name === name),
      isUser: () => true,
    },
    uninstalling: () => Promise.resolve(shown.uninstalling),
  });
  const secret = (name: string, ...held: string[]) =>
    post(secretsPath, { metadata: { name, finalizers: held }, type: "compute-operator.dev/api-key", data: {} });
  const connection = (name: string, secretName: string, ...held: string[]) =>
    post(`${ours}/serviceconnections`, {
      apiVersion,
      kind: "ServiceConnection",
      metadata: { name, finalizers: held },
      spec: { baseURL: "https://service.example.com/api/v2", apiKeySecretRef: { name: secretName } },
    });
  const use = (name: string, connectionName: string) =>
    post(`${ours}/computes`, {
      apiVersion,
      kind: "Compute",
      metadata: { name },
      spec: { projectID: "shop", branchID: "br-main", connectionRef: { name: connectionName } },
    });
  const named = (name: string): ServiceConnection => {
    const found = connections().find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  };
  const heldSecrets = () =>
    secrets()
      .filter(({ metadata }) => metadata.finalizers?.includes(inUse) === true)
      .map(({ metadata }) => metadata.name)
      .toSorted();
  const patches = () =>
    cluster.requests
      .splice(0)
      .filter(({ method }) => method === "PATCH")
      .map(({ path, body }) => ({ path: path.split("/").slice(-2).join("/"), body }));
  const remove = (path: string) => server.handle({ method: "DELETE", path });
  const world = { cluster, shown, finalizers, secret, connection, use, named, connections, secrets, computes };
  return { ...world, heldSecrets, patches, remove };
}

const isGet = ({ method }: ClusterRequest) => method === "GET";

test.each([
  ["their CRD", true],
  ["the right to list them", false],
])("a connection without users is let go where Branches lack %s, as before that kind", async (_, lacksCRD) => {
  const { cluster, finalizers, secret, connection, named, heldSecrets, remove } = setUp();
  secret("service", inUse);
  connection("default", "service", inUse);
  if (lacksCRD) remove("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/branches.compute-operator.dev");
  else {
    cluster.fate = ({ path }) => (path.endsWith("/branches") ? { kind: "status", afterMs: 0, status: 403 } : undefined);
  }
  expect(await finalizers.protect(named("default"))).toEqual({ kind: "kept" });
  expect([named("default").metadata.finalizers ?? [], heldSecrets()]).toEqual([[], []]);
});

test.each([
  ["keeps its finalizer while a Branch names it", "default", [inUse]],
  ["loses its finalizer where a Branch names another", "other", []],
])("a connection without Computes %s", async (_, name, kept) => {
  const { cluster, finalizers, secret, connection, named } = setUp();
  secret("service", inUse);
  connection("default", "service", inUse);
  const spec = { projectID: "shop", expiry: { never: true }, connectionRef: { name } };
  const body = { apiVersion, kind: "Branch", metadata: { name: "pr-1" }, spec };
  cluster.server.handle({ method: "POST", path: `${ours}/branches`, body });
  await finalizers.protect(named("default"));
  expect(named("default").metadata.finalizers ?? []).toEqual(kept);
});

describe("a connection that is in use", () => {
  test("with its Secret already held costs no request", async () => {
    const { cluster, finalizers, secret, connection, use, named } = setUp();
    secret("service", inUse);
    connection("default", "service", inUse);
    use("db", "default");
    expect(await finalizers.protect(named("default"))).toEqual({ kind: "kept" });
    expect(cluster.requests).toEqual([]);
  });

  test("gets what is missing: a Secret that another connection has had held is not patched again", async () => {
    const { finalizers, secret, connection, use, named, patches } = setUp();
    secret("service", inUse);
    connection("default", "service");
    use("db", "default");
    await finalizers.protect(named("default"));
    expect(patches().map(({ path }) => path)).toEqual(["serviceconnections/default"]);
  });

  test("gets the finalizer again where its removal was carried out, and the cache does not show that yet", async () => {
    const { cluster, finalizers, shown, secret, connection, use, named, secrets, heldSecrets, patches } = setUp();
    secret("service", inUse);
    connection("default", "service", inUse);
    const before = named("default");
    shown.connections = [before];
    shown.secrets = secrets();
    await finalizers.protect(before);
    expect(heldSecrets()).toEqual([]);
    use("db", "default");
    expect(finalizers.isSettled(before)).toBe(false);
    await finalizers.protect(before);
    expect([named("default").metadata.finalizers, heldSecrets()]).toEqual([[inUse], ["service"]]);
    // No role allows a single Secret to be read.
    expect(cluster.requests.filter(isGet).map(({ path }) => path)).not.toContain(`${secretsPath}/service`);
    expect(patches()).toHaveLength(4);
    cluster.requests.splice(0);
    // What a read shows to stand is not asked again.
    await finalizers.protect(before);
    cluster.requests.splice(0);
    await finalizers.protect(before);
    expect([finalizers.isSettled(before), cluster.requests]).toEqual([true, []]);
  });

  test("a connection is not held by a Compute that only the cache still shows", async () => {
    const { finalizers, shown, secret, connection, use, named, computes, patches, remove } = setUp();
    secret("service");
    connection("default", "service");
    use("db", "default");
    shown.users = computes();
    remove(`${ours}/computes/db`);
    await finalizers.protect(named("default"));
    expect(patches()).toEqual([]);
  });

  test("gets none while it is being deleted without one, for the API server refuses such", async () => {
    const { finalizers, secret, connection, use, named, patches, remove } = setUp();
    secret("service", inUse);
    connection("default", "service", "other.example/holds");
    use("db", "default");
    remove(`${ours}/serviceconnections/default`);
    expect(await finalizers.protect(named("default"))).toEqual({ kind: "kept" });
    expect(patches()).toEqual([]);
  });
});

describe("a connection that is used no more", () => {
  test("lets its Secret go first, and only itself stays until then; guarded by what was seen of each", async () => {
    const { finalizers, secret, connection, named, patches, heldSecrets } = setUp();
    secret("service", inUse);
    connection("default", "service", inUse);
    expect(await finalizers.protect(named("default"))).toEqual({ kind: "kept" });
    const sent = patches();
    expect(sent.map(({ path }) => path)).toEqual(["secrets/service", "serviceconnections/default"]);
    for (const { body } of sent)
      expect(body).toContainEqual({ op: "test", path: "/metadata/resourceVersion", value: expect.any(String) });
    expect([heldSecrets(), named("default").metadata.finalizers ?? []]).toEqual([[], []]);
  });

  test("keeps its finalizer where the removal from its Secret fails", async () => {
    const { cluster, finalizers, secret, connection, named } = setUp();
    secret("service", inUse);
    connection("default", "service", inUse);
    cluster.fate = ({ method, path }) =>
      method === "PATCH" && path.includes("/secrets/") ? { kind: "status", afterMs: 0, status: 500 } : undefined;
    await expect(finalizers.protect(named("default"))).rejects.toThrow("500");
    expect(named("default").metadata.finalizers).toEqual([inUse]);
  });
});

describe("a Secret", () => {
  test("a Secret that no connection names any more is released with the next reconcile, and its failure is reported", async () => {
    const { cluster, finalizers, secret, connection, use, named, heldSecrets } = setUp();
    for (const name of ["service", "former"]) secret(name, inUse);
    connection("default", "service", inUse);
    use("db", "default");
    cluster.fate = ({ method, path }) =>
      method === "PATCH" && path.endsWith("/former") ? { kind: "status", afterMs: 0, status: 500 } : undefined;
    await expect(finalizers.protect(named("default"))).rejects.toThrow("500");
    cluster.fate = () => undefined;
    await finalizers.protect(named("default"));
    expect(heldSecrets()).toEqual(["service"]);
  });

  test("a Secret is kept for a second connection that is in use, or is held, where the first is used no more", async () => {
    const { cluster, finalizers, secret, connection, use, named, heldSecrets } = setUp();
    for (const name of ["shared", "own", "held"]) secret(name, inUse);
    connection("default", "shared", inUse);
    connection("twin", "shared");
    connection("guarded", "held", inUse);
    connection("bare", "own");
    use("db", "twin");
    use("cache", "none");
    await finalizers.protect(named("default"));
    expect(heldSecrets()).toEqual(["held", "shared"]);
    expect(cluster.requests.filter(isGet).length).toBeGreaterThan(0);
  });

  test("a Secret that all connections of the cache need is not looked for at the API server", async () => {
    const { cluster, finalizers, secret, connection, use } = setUp();
    secret("service", inUse);
    secret("other", inUse);
    connection("default", "service");
    connection("held", "other", inUse);
    use("db", "default");
    await finalizers.releaseSecrets("default");
    expect(cluster.requests).toEqual([]);
  });

  test("a Secret of a connection that is gone is released, though the cache still shows the connection", async () => {
    const { finalizers, shown, secret, connection, use, named, connections, computes, heldSecrets, remove } = setUp();
    secret("service", inUse);
    connection("default", "service", inUse);
    use("db", "default");
    const { uid } = named("default").metadata;
    shown.connections = connections();
    shown.users = computes();
    remove(`${ours}/computes/db`);
    await finalizers.releaseSecrets("default", { gone: uid });
    expect(heldSecrets()).toEqual([]);
  });

  test("a Secret is kept where the cache does not show a connection yet that names it: one Compute of several uses it", async () => {
    const { finalizers, shown, secret, connection, use, heldSecrets } = setUp();
    secret("service", inUse);
    connection("fresh", "service");
    use("db", "fresh");
    use("cache", "other");
    shown.connections = [];
    await finalizers.releaseSecrets("default");
    expect(heldSecrets()).toEqual(["service"]);
  });

  test("a Secret is kept where the cache does not show yet that its connection is held", async () => {
    const { finalizers, shown, secret, connection, named, heldSecrets } = setUp();
    secret("service", inUse);
    connection("default", "service", inUse);
    const seen = named("default");
    shown.connections = [{ ...seen, metadata: { ...seen.metadata, finalizers: [] } }];
    await finalizers.releaseSecrets("default");
    expect(heldSecrets()).toEqual(["service"]);
  });

  test("a Secret of the cluster's own namespace is never touched", async () => {
    const { cluster, finalizers } = setUp();
    await finalizers.releaseSecrets("", { gone: "some-uid" });
    expect(cluster.requests).toEqual([]);
  });
});

describe("while the CRDs are being removed", () => {
  const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/computes.compute-operator.dev";

  test.each([
    ["a CRD that is gone for good shows no users", true, true, "released"],
    ["a CRD that cannot be found for now proves nothing", true, false, "failed"],
    ["another failure proves nothing", false, true, "failed"],
  ])("%s", async (_, isMissing, uninstalling, outcome) => {
    const { cluster, finalizers, shown, secret, connection, named, remove, heldSecrets } = setUp();
    secret("service", inUse);
    connection("default", "service", inUse);
    remove(`${ours}/serviceconnections/default`);
    const seen = named("default");
    shown.uninstalling = uninstalling;
    shown.users = [];
    if (isMissing) {
      remove(crd);
      await cluster.clock.advance(1000);
    } else {
      cluster.fate = ({ path }) =>
        path.endsWith("/computes") ? { kind: "status", afterMs: 0, status: 500 } : undefined;
    }
    const ended = await finalizers.protect(seen).then(
      ({ kind }) => kind,
      () => "failed",
    );
    expect([ended === "released" ? ended : "failed", heldSecrets()]).toEqual(
      outcome === "released" ? ["released", []] : ["failed", ["service"]],
    );
  });
});
