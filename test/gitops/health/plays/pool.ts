import { fleetOf, signatureOf } from "../../../../src/operator/resources/signature.ts";
import { Refusal } from "../../../simulation/api-server/refusal.ts";
import type { ApiServer } from "../../../simulation/api-server/server.ts";
import type { ApiFront } from "../../../simulation/api-server/transport.ts";
import { endpoints, HealthWorld } from "../world.ts";
import type { Play } from "./play.ts";

const template = {
  projectID: "shop",
  branchID: "br-main",
  connectionRef: { kind: "ClusterServiceConnection", name: "fleet" },
};

const life: Play = async () => {
  const world = new HealthWorld();
  world.create("ComputePool", "readers", { replicas: 1, template });
  await world.row("ComputePool", { reason: "", current: false, remark: "created, not seen by the operator yet" });
  await world.row("ComputePool", { reason: "Scaling" });
  await world.row("ComputePool", { reason: "Ready" });
  world.change("ComputePool", "readers", { replicas: 2 });
  await world.row("ComputePool", { reason: "Ready", current: false, remark: "edited, not seen by the operator yet" });
  return world;
};

const inTurn: Play = async () => {
  const world = new HealthWorld();
  const sized = (max: number) => ({ template: { ...template, computeUnits: { min: 1, max } } });
  world.create("ComputePool", "readers", { replicas: 2, ...sized(1) });
  await world.row("ComputePool", { reason: "Ready" });
  world.rows.length = 0;
  world.change("ComputePool", "readers", sized(2));
  await world.row("Compute", { reason: "WaitingForTurn", name: "readers-1" });
  return world;
};

const deleted: Play = async () => {
  const world = new HealthWorld();
  world.create("ComputePool", "readers", { replicas: 1, template });
  await world.until("the pool's first report", () => world.versions.some(({ kind }) => kind === "Compute"));
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/shop/computepools/readers";
  const found = world.send("GET", path);
  // As `kubectl delete --cascade=foreground` leaves it until its members are gone.
  world.send("PUT", path, { ...found, metadata: { ...found.metadata, finalizers: ["example.com/foreground"] } });
  world.delete("ComputePool", "readers");
  await world.row("ComputePool", { deleting: true, current: false, remark: "deletion in progress" });
  return world;
};

const conflict: Play = async () => {
  const world = new HealthWorld();
  world.declare("shop", "readers-0", { type: "read_only" });
  world.create("ComputePool", "readers", { replicas: 1, template });
  await world.row("ComputePool", { reason: "Conflict" });
  return world;
};

const rejected: Play = async () => {
  const world = new HealthWorld({ rights: withoutNewComputes });
  world.create("ComputePool", "readers", { replicas: 1, template });
  await world.row("ComputePool", { reason: "Rejected" });
  return world;
};

const formerMembers: Play = async () => {
  const world = new HealthWorld({ settings: { fleet: "prod" }, replicas: ["ep-former"] });
  const uid = "00000000-0000-4000-8000-000000000000";
  const metadata = { namespace: "shop", name: "readers-0", uid, resourceVersion: "1" };
  const name = signatureOf({ metadata }, fleetOf("prod"));
  world.console("PATCH", `${endpoints}/ep-former`, { endpoint: { name } });
  world.create("ComputePool", "readers", { replicas: 1, template });
  await world.row("ComputePool", { reason: "FormerMembers" });
  await world.row("Compute", { reason: "FormerMembers" });
  return world;
};

const expired: Play = async () => {
  const world = new HealthWorld();
  const { branchID: _, ...rest } = template;
  world.create("Branch", "over", { ...rest, expiry: { at: "2020-01-01T00:00:00Z" } });
  world.create("ComputePool", "readers", { replicas: 1, template: { ...rest, branchRef: { name: "over" } } });
  await world.row("ComputePool", { reason: "Expired" });
  await world.row("Compute", { reason: "Expired" });
  return world;
};

/** As under an admission policy that refuses what the pool creates. */
function withoutNewComputes(server: ApiServer): ApiFront {
  const refused = new Refusal(403, "Forbidden", "replicas are not allowed here").toResponse();
  return {
    store: server.store,
    handle: (request, asOf) =>
      request.method === "POST" && request.path.endsWith("/computes") ? refused : server.handle(request, asOf),
    watch: (path, query, sink) => server.watch(path, query, sink),
  };
}

export const poolPlays: readonly Play[] = [life, inTurn, deleted, conflict, rejected, formerMembers, expired];
