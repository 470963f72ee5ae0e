import { describe, expect, it } from "vitest";
import { underShippedRights } from "../simulation/api-server/rights.ts";
import type { ApiServer } from "../simulation/api-server/server.ts";
import type { ApiFront } from "../simulation/api-server/transport.ts";
import { ClusterWorld, selected } from "./support/cluster-world.ts";
import { agreed, changeSecret, details, elsewhere, removed, secretIn, told, worldOfApps } from "./support/elsewhere.ts";
import { connectNamespace } from "./support/in-memory.ts";

/** The shipped rights; notes the requests about Secrets. */
function noting(requests: string[]): (server: ApiServer) => ApiFront {
  return (server) => {
    const front = underShippedRights(server);
    const handle: ApiFront["handle"] = (request, asOf) => {
      if (request.path.includes("/secrets")) requests.push(`${request.method} ${request.path}`);
      return front.handle(request, asOf);
    };
    return { ...front, handle };
  };
}

/** Somebody's finalizer on the Compute's Secret, which keeps it from going. */
function hold(world: ClusterWorld, namespace: string): void {
  changeSecret(world, namespace, ({ metadata }) => {
    Object.assign(metadata, { finalizers: ["example.com/held"] });
  });
}

describe("a Secret of a Compute that somebody keeps by a finalizer", () => {
  it.each([
    ["another namespace", elsewhere.connectionSecret, "apps"],
    ["its own namespace", details, "shop"],
  ])("a Secret in %s is deleted once after a change, however long it stays", async (_, connectionSecret, namespace) => {
    const requests: string[] = [];
    await using world = worldOfApps(agreed, { rights: noting(requests) });
    world.edit("shop", "db", { connectionSecret });
    await world.ready("shop", "db");
    await world.clock.advance(60_000);
    hold(world, namespace);
    world.edit("shop", "db", { connectionSecret: { ...connectionSecret, name: "other" } });
    await world.until("its deletion", () => secretIn(world, namespace).metadata.deletionTimestamp !== undefined);
    await world.ready("shop", "db");
    await world.clock.advance(60_000);
    requests.length = 0;
    await world.clock.advance(3_600_000);
    expect(requests).toEqual([]);
    expect(secretIn(world, namespace, "other")).toBeDefined();
  });

  it("a Secret in another namespace keeps no Compute from going", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    hold(world, "apps");
    await removed(world);
    expect(secretIn(world, "apps").metadata.deletionTimestamp).toBeDefined();
  });
});

describe("a place of a Secret that changes hands", () => {
  it("two Computes of two namespaces that name one Secret have it one after the other", async () => {
    await using world = worldOfApps({ ...agreed, "secrets-from.compute-operator.dev/stock": "" });
    await world.ready("shop", "db");
    world.namespace("stock", selected);
    world.declare("stock", "db", { ...elsewhere, branchID: "br-preview" });
    await world.until("the refusal", () => world.said("stock", "db").startsWith("Conflict"));
    const before = secretIn(world, "apps");
    await world.clock.advance(7_200_000);
    expect(secretIn(world, "apps")).toEqual(before);
    world.remove("stock", "db");
    await world.until("the end of the second", () => world.isGone("stock", "db"));
    expect(secretIn(world, "apps")).toEqual(before);
    world.declare("stock", "db", { ...elsewhere, branchID: "br-preview" });
    await removed(world);
    await world.ready("stock", "db");
    expect(secretIn(world, "apps").metadata.annotations["compute-operator.dev/secret-of"]).toMatch(/^stock\/db\//);
  });

  it("the Secret's namespace may go and come back: the Secret is there again once it agrees", async () => {
    await using world = worldOfApps();
    await world.ready("shop", "db");
    const before = secretIn(world, "apps");
    world.send("DELETE", "/api/v1/namespaces/apps");
    await world.clock.advance(30_000);
    expect(world.said("shop", "db")).toMatch(/^SecretNotAllowed/);
    world.namespace("apps");
    await world.clock.advance(60_000);
    expect(secretIn(world, "apps")).toBeUndefined();
    world.label("apps", agreed);
    await world.ready("shop", "db");
    expect(secretIn(world, "apps").metadata.uid).not.toBe(before.metadata.uid);
    expect(secretIn(world, "apps").data).toEqual(before.data);
    await removed(world);
    expect(secretIn(world, "apps")).toBeUndefined();
  });
});

it("an operator that is installed for some namespaces afterwards lets the Compute go, and says which Secret stays", async () => {
  await using world = new ClusterWorld();
  world.namespace("shop");
  world.namespace("apps", agreed);
  connectNamespace("shop", (path, body) => world.send("POST", path, body));
  world.declare("shop", "db", { ...elsewhere, connectionRef: { name: "default" } });
  await world.ready("shop", "db");
  const before = secretIn(world, "apps");
  await world.stop();
  world.start({ namespaces: ["shop"] });
  await world.until("the refusal", () => world.said("shop", "db").startsWith("Forbidden"));
  expect(world.compute("shop", "db").status.connectionSecret).toMatchObject({ namespace: "apps", name: "shop-db" });
  await removed(world);
  expect([secretIn(world, "apps"), world.endpoints]).toEqual([before, []]);
  const why = "the operator cannot see whether that namespace agrees";
  const left = `Connection Secret apps/shop-db is kept: ${why}. Delete it if nothing uses it.`;
  expect(told(world, "Released")).toContain(left);
});
