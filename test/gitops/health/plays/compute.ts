import { refusal } from "../answers.ts";
import { endpoints, HealthWorld } from "../world.ts";
import type { Play } from "./play.ts";

const branch = { preview: "br-preview", staging: "br-staging" };

/** What the operator does to a Compute, one thing after another. */
const life: Play = async () => {
  const world = new HealthWorld();
  world.declare("shop", "db");
  await world.row("Compute", { reason: "", current: false, remark: "created, not seen by the operator yet" });
  await world.row("Compute", { reason: "Creating", current: false });
  await world.row("Compute", { reason: "Active" });
  world.edit("shop", "db", { computeUnits: { min: 1, max: 4 } });
  await world.row("Compute", { reason: "Active", current: false, remark: "edited, not seen by the operator yet" });
  await world.row("Compute", { reason: "Updating" });
  await world.ready("shop", "db");
  world.edit("shop", "db", { branchID: branch.preview });
  await world.row("Compute", { reason: "Moving" });
  await world.ready("shop", "db");
  world.annotate("db", "restartedAt", "today");
  await world.row("Compute", { reason: "Restarting" });
  await world.until("the restart", () => world.compute("shop", "db").status.restartedAt === "today");
  await world.ready("shop", "db");
  world.console("POST", `${endpoints}/${world.endpointID}/suspend`);
  await world.row("Compute", { reason: "Idle" });
  world.edit("shop", "db", { disabled: true });
  await world.row("Compute", { reason: "Disabled" });
  world.remove("shop", "db");
  await world.row("Compute", { reason: "Deleting", deleting: true, remark: "deletion in progress" });
  return world;
};

const paused: Play = async () => {
  const world = new HealthWorld();
  world.declare("shop", "db");
  await world.ready("shop", "db");
  world.annotate("db", "paused", "true");
  const kept = { reason: "Paused", paused: true } as const;
  await world.row("Compute", { ...kept, ready: "True", remark: "while ready" });
  world.edit("shop", "db", { computeUnits: { min: 1, max: 4 } });
  await world.row("Compute", { ...kept, ready: "True", current: false, remark: "edited while paused" });
  world.remove("shop", "db");
  const deleted = { ...kept, ready: "True", current: false, deleting: true };
  await world.row("Compute", { ...deleted, remark: "deletion waits for the end of the pause" });
  return world;
};

const pausedEarly: Play = async () => {
  const world = new HealthWorld();
  world.declare("shop", "db");
  await world.row("Compute", { reason: "Creating", current: false });
  world.rows.length = 0;
  world.annotate("db", "paused", "true");
  const unready = { reason: "Paused", ready: "False", paused: true, current: false } as const;
  await world.row("Compute", { ...unready, remark: "while not ready" });
  return world;
};

const pausedFirst: Play = async () => {
  const world = new HealthWorld();
  world.declare("shop", "db");
  world.annotate("db", "paused", "true");
  const never = { reason: "Paused", ready: "Unknown", paused: true, current: false } as const;
  await world.row("Compute", { ...never, remark: "since it was created" });
  return world;
};

/** One poll in twelve finds nothing between. */
const mostRestarts = 10;

const starting: Play = async () => {
  const world = new HealthWorld();
  world.declare("shop", "db");
  // A poll may find the suspension and the start ended at once: then the next restart is tried.
  let restart = 1;
  while (restart < mostRestarts && !(await isPausedUntilStarting(world, `restart ${restart}`))) restart += 1;
  await world.row("Compute", { reason: "Starting" });
  return world;
};

/** Restarts the compute, and pauses until the operator has seen the end of the suspension; whether it still starts. */
async function isPausedUntilStarting(world: HealthWorld, restartedAt: string): Promise<boolean> {
  const status = () => world.compute("shop", "db").status;
  const hasEnded = (name: string) => status().operations?.find(({ action }) => action === name)?.status === "finished";
  await world.ready("shop", "db");
  world.annotate("db", "restartedAt", restartedAt);
  await world.until("the restart", () => status().restartedAt === restartedAt);
  world.annotate("db", "paused", "true");
  await world.until("the end of the suspension", () => hasEnded("suspend_compute"));
  world.annotate("db", "paused", undefined);
  return !hasEnded("start_compute");
}

const drifted: Play = async () => {
  const world = new HealthWorld();
  world.declare("shop", "db", { driftPolicy: "Report", computeUnits: { min: 1, max: 2 } });
  await world.ready("shop", "db");
  world.console("PATCH", `${endpoints}/${world.endpointID}`, { endpoint: { autoscaling_limit_max_cu: 4 } });
  await world.row("Compute", { reason: "Drifted" });
  return world;
};

const observed: Play = async () => {
  const world = new HealthWorld();
  world.console("POST", endpoints, { endpoint: { branch_id: "br-main", type: "read_write" } });
  world.declare("shop", "db", { adopt: { branchPrimary: true }, managementPolicy: "Observe" });
  await world.row("Compute", { reason: "Observed" });
  return world;
};

const waitingForWindow: Play = async () => {
  const world = new HealthWorld();
  const windows = [{ days: ["Sun"], from: "02:00", to: "02:01" }];
  world.declare("shop", "db", { computeUnits: { min: 1, max: 1 }, disruption: { windows } });
  await world.ready("shop", "db");
  world.edit("shop", "db", { computeUnits: { min: 1, max: 4 } });
  await world.row("Compute", { reason: "WaitingForWindow" });
  return world;
};

const movedOutside: Play = async () => {
  const world = new HealthWorld();
  world.declare("shop", "db");
  await world.ready("shop", "db");
  world.console("PATCH", `${endpoints}/${world.endpointID}`, { endpoint: { branch_id: branch.preview } });
  await world.row("Compute", { reason: "MovedOutside" });
  return world;
};

const lost: Play = async () => {
  const world = new HealthWorld();
  world.declare("shop", "db");
  await world.ready("shop", "db");
  world.console("DELETE", `${endpoints}/${world.endpointID}`);
  await world.row("Compute", { reason: "EndpointLost" });
  return world;
};

const massLoss: Play = async () => {
  const world = new HealthWorld({ service: { timeScale: 10_000 } });
  const names = ["a", "b", "c", "d", "e"];
  for (const name of names) world.declare("shop", name, { type: "read_only" });
  for (const name of names) await world.ready("shop", name);
  await world.clock.advance(60_000);
  for (const { id } of world.endpoints) world.console("DELETE", `${endpoints}/${id}`);
  await world.row("Compute", { reason: "MassLoss" });
  return world;
};

/** A service that shows a state which no version of this operator knows. */
const unknownState: Play = async () => {
  const world = new HealthWorld();
  world.declare("shop", "db");
  await world.ready("shop", "db");
  world.host.instead = ({ method, path, authorization }) => {
    if (method !== "GET" || path !== endpoints) return undefined;
    const reply = world.host.service.call({ method, path: `/api/v2${path}`, headers: { authorization } });
    return { ...reply, body: (reply.body ?? "").replace('"current_state":"active"', '"current_state":"hibernated"') };
  };
  await world.row("Compute", { state: "Unknown", remark: "in a state that the operator does not know" });
  return world;
};

/** A Compute that is never created, because of what `prepare` did before. */
const refused =
  (
    reason: string,
    prepare: (world: HealthWorld) => void,
    spec: Record<string, unknown> = {},
    plan: "free" | "scale" = "scale",
  ): Play =>
  async () => {
    const world = new HealthWorld({ plan });
    prepare(world);
    world.declare("shop", "db", spec);
    await world.row("Compute", { reason, name: "db" });
    return world;
  };

/** A Compute that was ready before `prepare` did something. */
const hindered =
  (reason: string, prepare: (world: HealthWorld) => void): Play =>
  async () => {
    const world = new HealthWorld();
    world.declare("shop", "db");
    await world.ready("shop", "db");
    prepare(world);
    await world.row("Compute", { reason });
    return world;
  };

const fault = (kind: "429" | "503" | "drop-after" | "fail-operations", method: "GET" | "POST", count?: number) => {
  const rule = { kind, method, route: endpoints, ...(count !== undefined && { count }) };
  return (world: HealthWorld) => world.host.service.setFaults([rule]);
};

const nothing = () => undefined;
const other = { endpoint: { type: "read_write", branch_id: "br-main" } };

export const computePlays: readonly Play[] = [
  life,
  paused,
  pausedEarly,
  pausedFirst,
  starting,
  drifted,
  observed,
  waitingForWindow,
  movedOutside,
  lost,
  massLoss,
  unknownState,
  refused("ProjectBusy", (world) => {
    world.console("POST", endpoints, { endpoint: { type: "read_write", branch_id: branch.preview } });
  }),
  refused("RateLimited", fault("429", "POST", 1)),
  refused("CreateUnknown", fault("drop-after", "POST", 1), { type: "read_only" }),
  refused("OperationFailed", fault("fail-operations", "POST", 1)),
  refused("Forbidden", (world) => {
    world.host.instead = ({ method }) => (method === "POST" ? refusal(403, "this key may only read") : undefined);
  }),
  refused("ConnectionNotFound", nothing, { connectionRef: { kind: "ServiceConnection", name: "missing" } }),
  refused("ConnectionNotReady", nothing, { projectID: "another" }),
  refused("BranchNotFound", nothing, { branchID: "br-nowhere" }),
  refused("BranchNotReady", nothing, { branchID: undefined, branchRef: { name: "absent" } }),
  refused("PrimaryExists", (world) => void world.console("POST", endpoints, other)),
  refused("AdoptionRefused", nothing, { adopt: { endpointID: "ep-missing" } }),
  refused("SecretNotAllowed", (world) => world.namespace("web"), {
    connectionSecret: { name: "shop-db", namespace: "web" },
  }),
  refused("Rejected", nothing, { computeUnits: { min: 1, max: 8 } }, "free"),
  hindered("Conflict", (world) => world.declare("shop", "second")),
  hindered("ServiceUnavailable", fault("503", "GET")),
  hindered("Unauthorized", (world) => {
    world.host.instead = () => refusal(401, "the key was revoked");
  }),
  hindered("ProjectNotFound", (world) => {
    world.console("PUT", "/_admin/projects/shop/owner", { owner: "acc-ana" });
  }),
];
