import { describe, expect, it } from "vitest";
import {
  ClusterWorld,
  ownNamespace,
  secretsOfOwnNamespace,
  selected,
  worldOfShop as shop,
} from "./support/cluster-world.ts";

describe("an operator with rights to Secrets of its own namespace alone", () => {
  it("serves Computes of all selected namespaces", async () => {
    await using world = await shop({ rights: secretsOfOwnNamespace });
    expect(world.endpoints).toHaveLength(1);
  });

  it("says of connectionSecret that it cannot write it, and asks the service for no password", async () => {
    await using world = new ClusterWorld({ rights: secretsOfOwnNamespace });
    world.namespace("shop", selected);
    const connectionSecret = { name: "details", database: "stock", role: "stock_owner" };
    world.declare("shop", "db", { connectionSecret });
    await world.until("the condition", () => world.said("shop", "db").startsWith("Forbidden"));
    expect(world.said("shop", "db")).toBe(
      "Forbidden: The operator has no right to Secrets in this namespace, so it cannot write the one that spec.connectionSecret names. Remove spec.connectionSecret, or have an administrator bind the operator's ClusterRole for Secrets.",
    );
    await world.clock.advance(600_000);
    expect(world.host.calls.filter(({ path }) => path.includes("connection_uri"))).toEqual([]);
    world.edit("shop", "db", { connectionSecret: undefined });
    await world.ready("shop", "db");
  });

  it("says of a ServiceConnection that its Secret cannot be read", async () => {
    await using world = new ClusterWorld({ rights: secretsOfOwnNamespace });
    world.namespace("shop");
    const base = "/apis/compute-operator.dev/v1alpha1/namespaces/shop/serviceconnections";
    world.send("POST", base, {
      metadata: { name: "default" },
      spec: { baseURL: "http://service.test/api/v2", apiKeySecretRef: { name: "mine" } },
    });
    await world.clock.advance(10_000);
    const [ready] = world.find(`${base}/default`).status.conditions;
    expect(ready).toMatchObject({ reason: "NotAllowed" });
    expect(ready.message).toContain("The operator may not read Secrets in this namespace.");
  });
});

describe("where ClusterServiceConnections cannot be used", () => {
  it("a Compute that names one says that --namespace excludes it", async () => {
    await using world = new ClusterWorld({ settings: { namespaces: ["shop"] } });
    world.namespace("shop", selected);
    world.declare("shop", "db");
    await world.clock.advance(30_000);
    expect(world.said("shop", "db")).toBe(
      "ConnectionNotReady: This operator watches some namespaces only (--namespace), and no ClusterServiceConnection can be used then. Name a ServiceConnection in spec.connectionRef.",
    );
    expect(world.host.calls).toEqual([]);
  });

  it("a Compute that names one says that the CRD is missing, and is served once it is installed", async () => {
    await using world = new ClusterWorld({ without: ["clusterserviceconnections"] });
    world.namespace("shop", selected);
    world.declare("shop", "db");
    await world.clock.advance(30_000);
    expect(world.said("shop", "db")).toContain("The operator cannot read ClusterServiceConnections.");
    world.install("clusterserviceconnections");
    world.connect();
    await world.ready("shop", "db");
  });
});

describe("deletion", () => {
  it("the deletion of the connection waits for its users, and names them with their namespaces", async () => {
    await using world = await shop();
    world.send("DELETE", "/apis/compute-operator.dev/v1alpha1/clusterserviceconnections/fleet");
    await world.clock.advance(10_000);
    expect(world.connectionSaid()).toMatch(/^Deleting: Deletion waits until nothing uses .* \(shop\/db\), /);
    world.declare("shop", "late", { branchID: "br-preview" });
    await world.clock.advance(30_000);
    expect(world.said("shop", "late")).toContain("is being deleted");
    world.remove("shop", "db");
    world.remove("shop", "late");
    await world.until("its end", () => world.connection() === undefined);
    expect(world.endpoints).toEqual([]);
  });

  it("the deletion of a namespace deletes its computes first", async () => {
    await using world = await shop();
    world.send("DELETE", "/api/v1/namespaces/shop");
    await world.until("its end", () => world.find("/api/v1/namespaces/shop") === undefined);
    expect(world.endpoints).toEqual([]);
  });

  it("the deletion of the Secret stops all, and a Compute that is being deleted goes once there is another", async () => {
    await using world = await shop();
    world.send("DELETE", `/api/v1/namespaces/${ownNamespace}/secrets/fleet-key`);
    await world.clock.advance(10_000);
    expect(world.connectionSaid()).toContain(
      `There is no Secret "fleet-key" of type compute-operator.dev/api-key in namespace "${ownNamespace}".`,
    );
    world.remove("shop", "db");
    await world.clock.advance(60_000);
    expect([world.isGone("shop", "db"), world.endpoints.length]).toEqual([false, 1]);
    world.key();
    await world.until("its end", () => world.isGone("shop", "db"));
    expect(world.endpoints).toEqual([]);
  });

  it("the loss of the connection's finalizer, and of the connection, leaves the Compute waiting for another", async () => {
    await using world = await shop();
    const path = "/apis/compute-operator.dev/v1alpha1/clusterserviceconnections/fleet";
    world.send("DELETE", path);
    const found = world.send("GET", path);
    world.send("PUT", path, { ...found, metadata: { ...found.metadata, finalizers: [] } });
    await world.clock.advance(10_000);
    world.remove("shop", "db");
    await world.clock.advance(60_000);
    expect(world.said("shop", "db")).toContain('There is no ClusterServiceConnection "fleet".');
    world.connect();
    await world.until("its end", () => world.isGone("shop", "db"));
    expect(world.endpoints).toEqual([]);
  });

  it("the deletion of the connection's CRD waits for its users", async () => {
    await using world = await shop();
    const crd =
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterserviceconnections.compute-operator.dev";
    world.send("DELETE", crd);
    await world.clock.advance(60_000);
    expect([world.find(crd) === undefined, world.endpoints.length]).toEqual([false, 1]);
    world.remove("shop", "db");
    await world.until("its end", () => world.find(crd) === undefined);
    expect(world.endpoints).toEqual([]);
  });

  it("the deletion of the CRD of Computes lets every endpoint be, and the connection go", async () => {
    await using world = await shop();
    const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    world.send("DELETE", `${crds}/computes.compute-operator.dev`);
    world.send("DELETE", `${crds}/clusterserviceconnections.compute-operator.dev`);
    await world.until(
      "the end of both",
      () => world.find(`${crds}/clusterserviceconnections.compute-operator.dev`) === undefined,
    );
    expect(world.find(`${crds}/computes.compute-operator.dev`)).toBeUndefined();
    expect(world.endpoints).toHaveLength(1);
  });

  it("the deletion of a namespace that is not selected any more waits, endpoint included, until it is selected again", async () => {
    await using world = await shop();
    world.label("shop", {});
    await world.clock.advance(5000);
    world.send("DELETE", "/api/v1/namespaces/shop");
    await world.clock.advance(60_000);
    expect([world.isGone("shop", "db"), world.endpoints.length]).toEqual([false, 1]);
    world.label("shop", selected);
    await world.until("its end", () => world.find("/api/v1/namespaces/shop") === undefined);
    expect(world.endpoints).toEqual([]);
  });

  const group = "/apis/compute-operator.dev/v1alpha1";
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const things = {
    namespace: "/api/v1/namespaces/shop",
    connection: `${group}/clusterserviceconnections/fleet`,
    Secret: `/api/v1/namespaces/${ownNamespace}/secrets/fleet-key`,
    CRD: `${definitions}/clusterserviceconnections.compute-operator.dev`,
  } as const;
  type Thing = keyof typeof things;

  it.each(
    orders<Thing>(["namespace", "connection", "Secret", "CRD"]).map((order) => [order.join(", "), order] as const),
  )(
    "the deletion of %s, in this order, at once and one after another, ends once a key is there, and leaves no endpoint",
    async (_, order) => {
      for (const gapMs of [0, 30_000]) {
        await using world = await shop();
        for (const thing of order) {
          const { status } = world.server.handle({ method: "DELETE", path: things[thing] });
          // With its CRD the connection may be gone already.
          expect([200, 202, 404]).toContain(status);
          await world.clock.advance(gapMs);
        }
        await world.clock.advance(60_000);
        const waits = !world.isGone("shop", "db");
        // Nothing is let go of that still stands at the service.
        expect(world.endpoints).toHaveLength(waits ? 1 : 0);
        const said = waits ? world.said("shop", "db") : "gone";
        expect(said).toMatch(/^(gone$|ConnectionNotReady: .*(Secret|fleet))/);
        if (waits) world.key();
        await world.until(
          "the end",
          () => world.find(things.namespace) === undefined && world.find(things.CRD) === undefined,
        );
        expect(world.endpoints).toEqual([]);
      }
    },
  );
});

/** Every order of some things. */
function orders<T>(things: readonly T[]): T[][] {
  if (things.length < 2) return [[...things]];
  return things.flatMap((first) => orders(things.filter((one) => one !== first)).map((rest) => [first, ...rest]));
}
