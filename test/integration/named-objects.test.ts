import { expect, it } from "vitest";
import { said } from "./conditions/conditions.ts";
import { storedKeySecret } from "./support/manifests.ts";
import { SmallWorld } from "./support/small-world.ts";

// With two of each, a message that names the wrong one sends a person to the wrong object.

const api = "/apis/compute-operator.dev/v1alpha1/namespaces/default";
const branches = ["br-a", "br-b", "br-c"];
const on = (branchID: string, more: Record<string, unknown> = {}) => ({ projectID: "shop", branchID, ...more });

/** An endpoint that somebody else made; answers its id. */
async function byOthers(world: SmallWorld, branchID: string): Promise<string> {
  const endpoint = { branch_id: branchID, type: "read_write" };
  const made = world.console("POST", "/projects/shop/endpoints", { endpoint });
  await world.clock.advance(5000);
  return made.endpoint.id;
}

/** That a text has each of these words and none of those. */
function expectNames(text: string, named: readonly unknown[], others: readonly unknown[]): void {
  expect(named.filter((name) => !text.includes(String(name)))).toEqual([]);
  expect([text, others.filter((name) => text.includes(String(name)))]).toEqual([text, []]);
}

it("a condition names, of several Computes, the one that claims the branch, and of several branches the one that is claimed", async () => {
  await using world = new SmallWorld(branches, 1);
  world.declare(0, on("br-a"));
  world.declare(1, on("br-b"));
  await world.settle(2);
  world.declare(2, on("br-b"));
  await world.clock.advance(60_000);
  expectNames(said(world.compute(2)), ["default/db-1", "br-b"], ["db-0", "br-a", world.compute(0).status.endpointID]);
});

it("a condition names, of several primaries, the one that stands on the branch", async () => {
  await using world = new SmallWorld(branches, 1);
  const [one, two] = [await byOthers(world, "br-a"), await byOthers(world, "br-b")];
  world.declare(0, on("br-b"));
  await world.clock.advance(60_000);
  expectNames(said(world.compute(0)), [two, "br-b"], [one, "br-a"]);
});

it("a condition names, of several endpoints, the one that adopt names, and the branch that it is on", async () => {
  await using world = new SmallWorld(branches, 1);
  const [one, two] = [await byOthers(world, "br-a"), await byOthers(world, "br-b")];
  world.declare(0, on("br-c", { adopt: { endpointID: two } }));
  await world.clock.advance(60_000);
  expectNames(said(world.compute(0)), [two, "br-b"], [one, "br-a"]);
});

it("a condition names the Compute that has the endpoint which adopt names", async () => {
  await using world = new SmallWorld(branches, 1);
  const [one, two] = [await byOthers(world, "br-a"), await byOthers(world, "br-b")];
  world.declare(0, on("br-a", { adopt: { endpointID: one } }));
  world.declare(1, on("br-b", { adopt: { endpointID: two } }));
  await world.settle(2);
  world.declare(2, on("br-b", { adopt: { endpointID: two } }));
  await world.clock.advance(60_000);
  expectNames(said(world.compute(2)), ["default/db-1"], ["db-0", one, "br-a"]);
});

it("a condition names, of two connections, the one that the Compute uses, and of two Secrets its own", async () => {
  await using world = new SmallWorld(branches, 1);
  const secret = storedKeySecret("wrong");
  for (const name of ["second", "third"]) {
    const metadata = { ...secret.metadata, name: `${name}-key` };
    if (name === "second") world.send("POST", "/api/v1/namespaces/default/secrets", { ...secret, metadata });
    world.send("POST", `${api}/serviceconnections`, {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ServiceConnection",
      metadata: { name },
      spec: { baseURL: "http://service.test/api/v2", apiKeySecretRef: { name: `${name}-key` } },
    });
  }
  world.declare(0, on("br-a", { connectionRef: { name: "second" } }));
  world.declare(1, on("br-b", { connectionRef: { name: "third" } }));
  await world.clock.advance(60_000);
  expectNames(said(world.compute(0)), ['"second"', '"second-key"'], ["third", "default", "service-api-key"]);
  expectNames(said(world.compute(1)), ['"third"'], ["second", '"default"', "service-api-key"]);
  const connectionSays = (name: string) =>
    JSON.stringify(world.send("GET", `${api}/serviceconnections/${name}`).status);
  expectNames(connectionSays("second"), ["Unauthorized"], ["third", "service-api-key"]);
  expectNames(connectionSays("third"), ["third-key"], ["second", "service-api-key"]);
});

it("a condition names the endpoint of this Compute that is lost, and not another's", async () => {
  await using world = new SmallWorld(branches, 1);
  world.declare(0, on("br-a", { type: "read_only", driftPolicy: "Report" }));
  world.declare(1, on("br-a", { type: "read_only", driftPolicy: "Report" }));
  await world.settle(2);
  const [kept, lost] = [0, 1].map((index) => world.compute(index).status.endpointID);
  world.console("DELETE", `/projects/shop/endpoints/${lost}`);
  await world.clock.advance(180_000);
  expectNames(said(world.compute(1)), [lost], [kept]);
  expectNames(said(world.compute(0)), [], [lost]);
});

it("an event names the endpoint of its Compute when it is created and deleted", async () => {
  await using world = new SmallWorld(branches, 1);
  world.declare(0, on("br-a"));
  world.declare(1, on("br-b"));
  await world.settle(2);
  const [kept, deleted] = [0, 1].map((index) => world.compute(index).status.endpointID);
  world.remove(1);
  await world.clock.advance(60_000);
  const {
    items,
  }: {
    items: { reason: string; message: string; involvedObject?: { name: string }; regarding?: { name: string } }[];
  } = world.send("GET", "/api/v1/namespaces/default/events");
  const about = (name: string, reason: string) =>
    items.filter((event) => (event.involvedObject ?? event.regarding)?.name === name && event.reason === reason);
  for (const [name, own, other] of [
    ["db-0", kept, deleted],
    ["db-1", deleted, kept],
  ] as const) {
    const [created] = about(name, "Created");
    expectNames(created?.message ?? "", [own], [other]);
  }
  const [gone] = about("db-1", "Deleted");
  expectNames(gone?.message ?? "", [deleted], [kept]);
  expect(about("db-0", "Deleted")).toEqual([]);
});
