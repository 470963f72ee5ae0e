import { describe, expect, it } from "vitest";
import { ClusterWorld, selected } from "./support/cluster-world.ts";

const label = "secrets-from.compute-operator.dev/shop";
const agreed = { [label]: "" };
const details = { name: "shop-db", database: "neondb", role: "neondb_owner" };
const elsewhere = { connectionSecret: { ...details, namespace: "apps" } };

const secretsOf = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;

/** Namespaces `shop`, with a Compute whose Secret is to lie in `apps`, and `apps`, which bears these labels. */
function worldOfApps(labels: Record<string, string> = agreed): ClusterWorld {
  const world = new ClusterWorld();
  world.namespace("shop", selected);
  world.namespace("apps", labels);
  world.declare("shop", "db", elsewhere);
  return world;
}

function secretIn(world: ClusterWorld, namespace: string, name = "shop-db") {
  return world.find(`${secretsOf(namespace)}/${name}`);
}

/** Messages of the events with this reason, about anything. */
function said(world: ClusterWorld, reason: string): string[] {
  const events: { reason: string; message: string }[] = world.find("/api/v1/namespaces/shop/events").items;
  return events.filter((event) => event.reason === reason).map(({ message }) => message);
}

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
    expect(status.connectionSecret).toEqual({ namespace: "apps", name: "shop-db", uid: metadata.uid });
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
    world.remove("shop", "db");
    await world.until("the end", () => world.isGone("shop", "db"));
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
      expect(said(world, "Released")).toEqual([]);
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
    world.remove("shop", "db");
    await world.until("the end", () => world.isGone("shop", "db"));
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
});
