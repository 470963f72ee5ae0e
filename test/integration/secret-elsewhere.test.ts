import { describe, expect, it } from "vitest";
import { underShippedRights } from "../simulation/api-server/rights.ts";
import type { ApiServer } from "../simulation/api-server/server.ts";
import type { ApiFront } from "../simulation/api-server/transport.ts";
import { ClusterWorld, selected } from "./support/cluster-world.ts";
import {
  agreed,
  details,
  elsewhere,
  label,
  removed,
  secretIn,
  told,
  wipeStatus,
  worldOfApps,
} from "./support/elsewhere.ts";
import { connectNamespace } from "./support/in-memory.ts";

describe("a connection Secret in another namespace", () => {
  it("a Secret elsewhere stands there with the operator's marks once the namespace agrees, and the status names it", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    const { metadata, type, data } = secretIn(world, "apps");
    const { uid } = world.compute("shop", "db").metadata;
    expect(type).toBe("servicebinding.io/postgresql");
    expect(metadata.ownerReferences).toBeUndefined();
    expect(metadata.labels["compute-operator.dev/compute"]).toBe(uid);
    expect(metadata.annotations["compute-operator.dev/secret-of"]).toBe(`shop/db/${uid}`);
    expect(Object.keys(data)).toContain("uri");
    const { status } = world.compute("shop", "db");
    expect(status.binding).toBeUndefined();
    expect(status.connectionSecret).toMatchObject({ namespace: "apps", name: "shop-db", uid: metadata.uid });
    expect(secretIn(world, "shop")).toBeUndefined();
  });

  it("a Secret elsewhere is written nowhere while the namespace does not agree, beside an endpoint that is kept, and at once when it does", async () => {
    await using world = worldOfApps({ "secrets-from.compute-operator.dev/shops": "", ...selected });
    await world.until("the refusal", () => world.said("shop", "db").startsWith("SecretNotAllowed"));
    expect(world.said("shop", "db")).toContain(`kubectl label namespace apps ${label}=yes`);
    const { conditions, endpointID } = world.compute("shop", "db").status;
    expect(conditions?.find(({ type }) => type === "Stalled")?.status).toBe("True");
    expect([world.endpoints.map(({ id }) => id), secretIn(world, "apps")]).toEqual([[endpointID], undefined]);
    expect(world.host.calls.filter(({ path }) => path.includes("connection_uri"))).toEqual([]);
    world.edit("shop", "db", { computeUnits: { min: 2, max: 2 } });
    await world.until("the edit", () => world.endpoints[0]?.autoscaling_limit_max_cu === 2);
    world.label("apps", agreed);
    await world.clock.advance(2000);
    expect(world.said("shop", "db")).toMatch(/^(Active|Idle)/);
    expect(secretIn(world, "apps")).toBeDefined();
  });

  it("the operator says the same of a namespace that is not there, and follows once it is", async () => {
    await using world = new ClusterWorld();
    world.namespace("shop", selected);
    world.declare("shop", "db", elsewhere);
    await world.until("the refusal", () => world.said("shop", "db").startsWith("SecretNotAllowed"));
    const before = world.said("shop", "db");
    world.namespace("apps");
    await world.clock.advance(60_000);
    expect(world.said("shop", "db")).toBe(before);
    world.label("apps", agreed);
    await world.ready("shop", "db");
  });

  it("a Secret elsewhere goes with its Compute, before the finalizer does", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    await removed(world);
    expect(secretIn(world, "apps")).toBeUndefined();
    expect(world.endpoints).toEqual([]);
  });

  it.each([
    ["another name", { connectionSecret: { ...details, namespace: "apps", name: "other" } }, "apps", "other"],
    ["another namespace", { connectionSecret: { ...details, namespace: "more" } }, "more", "shop-db"],
    ["the own namespace", { connectionSecret: details }, "shop", "shop-db"],
  ])(
    "a Secret elsewhere is removed after a change to %s, once the new one stands",
    async (_, spec, namespace, name) => {
      await using world = worldOfApps();
      world.namespace("more", agreed);
      await world.ready("shop", "db");
      world.edit("shop", "db", spec);
      await world.until("the new one", () => secretIn(world, namespace, name) !== undefined);
      await world.ready("shop", "db");
      expect(secretIn(world, "apps")).toBeUndefined();
      const { binding, connectionSecret } = world.compute("shop", "db").status;
      expect(connectionSecret).toMatchObject({ namespace, name });
      expect(binding).toEqual(namespace === "shop" ? { name } : undefined);
      expect([told(world, "Released"), told(world, "SecretUpdated")]).toEqual([[], []]);
    },
  );

  it("a Secret elsewhere stays, and the status names it, while the namespace that the spec names now does not agree", async () => {
    await using world = worldOfApps();
    world.namespace("more");
    await world.ready("shop", "db");
    const { metadata } = secretIn(world, "apps");
    world.edit("shop", "db", { connectionSecret: { ...details, namespace: "more" } });
    await world.until("the refusal", () => world.said("shop", "db").startsWith("SecretNotAllowed"));
    expect(world.compute("shop", "db").status.connectionSecret).toMatchObject({ namespace: "apps", uid: metadata.uid });
    await removed(world);
    expect(secretIn(world, "apps")).toBeUndefined();
  });

  it("a Secret elsewhere takes the place of one in the own namespace, which goes once the new one stands", async () => {
    await using world = worldOfApps({});
    world.edit("shop", "db", { connectionSecret: details });
    await world.ready("shop", "db");
    world.edit("shop", "db", elsewhere);
    await world.until("the refusal", () => world.said("shop", "db").startsWith("SecretNotAllowed"));
    expect(secretIn(world, "shop")).toBeDefined();
    world.label("apps", agreed);
    await world.ready("shop", "db");
    expect([secretIn(world, "shop"), secretIn(world, "apps")]).toEqual([undefined, expect.anything()]);
    expect(world.compute("shop", "db").status.binding).toBeUndefined();
  });

  it("a Secret elsewhere goes where the spec names none any more", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    world.edit("shop", "db", { connectionSecret: undefined });
    await world.until("its end", () => secretIn(world, "apps") === undefined);
    await world.clock.advance(5000);
    expect(world.compute("shop", "db").status.connectionSecret).toBeUndefined();
  });

  it("a Secret elsewhere of which the status lost track is found by its mark, after a change and at the end", async () => {
    await using world = worldOfApps();
    world.namespace("more", agreed);
    await world.ready("shop", "db");
    wipeStatus(world);
    world.edit("shop", "db", { connectionSecret: { ...details, namespace: "more" } });
    await world.until("the new one", () => secretIn(world, "more") !== undefined);
    await world.clock.advance(5000);
    expect(secretIn(world, "apps")).toBeUndefined();
    wipeStatus(world);
    await removed(world);
    expect(secretIn(world, "more")).toBeUndefined();
  });
});

/** What a Compute with this Secret costs in the second hour: requests to the API server, and calls of the service. */
async function costOf(connectionSecret: object): Promise<{ requests: string[]; calls: number }> {
  const requests: string[] = [];
  const rights = (server: ApiServer): ApiFront => {
    const front = underShippedRights(server);
    return {
      ...front,
      handle: (request, asOf) => {
        if (!request.path.includes("leases")) requests.push(`${request.method} ${request.path}`);
        return front.handle(request, asOf);
      },
    };
  };
  await using world = worldOfApps(agreed, { rights });
  world.edit("shop", "db", { connectionSecret });
  await world.ready("shop", "db");
  await world.clock.advance(3_600_000);
  requests.length = 0;
  world.host.calls.length = 0;
  await world.clock.advance(3_600_000);
  return { requests, calls: world.host.calls.length };
}

it("a settled Compute with its Secret elsewhere makes no request and no call more than with one in its own namespace", async () => {
  const own = await costOf(details);
  expect(await costOf({ ...details, namespace: "apps" })).toEqual(own);
  expect(own.requests.filter((request) => !request.startsWith("GET"))).toEqual([]);
});

it("an operator of some namespaces only says that it cannot see whether another one agrees", async () => {
  await using world = new ClusterWorld({ settings: { namespaces: ["shop"] } });
  world.namespace("shop");
  world.namespace("apps", agreed);
  connectNamespace("shop", (path, body) => world.send("POST", path, body));
  world.declare("shop", "db", { ...elsewhere, connectionRef: { name: "default" } });
  await world.until("the refusal", () => world.said("shop", "db").startsWith("Forbidden"));
  expect(world.said("shop", "db")).toContain('cannot see whether namespace "apps" takes the Secret');
  expect([world.endpoints.length, secretIn(world, "apps")]).toEqual([1, undefined]);
  await removed(world);
});

it("a member of a pool has its own Secret elsewhere, with its number, and takes it along", async () => {
  await using world = new ClusterWorld();
  world.namespace("shop", selected);
  world.namespace("apps", agreed);
  const pools = "/apis/compute-operator.dev/v1alpha1/namespaces/shop/computepools";
  world.send("POST", pools, {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ComputePool",
    metadata: { name: "readers" },
    spec: {
      replicas: 2,
      template: {
        ...elsewhere,
        projectID: "shop",
        branchID: "br-main",
        connectionRef: { kind: "ClusterServiceConnection", name: "fleet" },
      },
    },
  });
  const names = () => ["shop-db-0", "shop-db-1"].filter((name) => secretIn(world, "apps", name) !== undefined);
  await world.until("both", () => names().length === 2);
  const pool = world.find(`${pools}/readers`);
  world.send("PUT", `${pools}/readers`, { ...pool, spec: { ...pool.spec, replicas: 1 } });
  await world.until("the end of the second", () => names().length === 1);
  expect(names()).toEqual(["shop-db-0"]);
});
