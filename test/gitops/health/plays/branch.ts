import { refusal } from "../answers.ts";
import { HealthWorld } from "../world.ts";
import type { Play } from "./play.ts";

const branches = "/projects/shop/branches";
const ours = {
  projectID: "shop",
  connectionRef: { kind: "ClusterServiceConnection", name: "fleet" },
  expiry: { never: true },
};

function create(world: HealthWorld, spec: Record<string, unknown> = {}, name = "pr"): void {
  world.create("Branch", name, { ...ours, branchName: name, ...spec });
}

/** A Branch that is available. */
async function standing(spec: Record<string, unknown> = {}): Promise<HealthWorld> {
  const world = new HealthWorld();
  create(world, spec);
  await world.row("Branch", { reason: "Available" });
  world.rows.length = 0;
  return world;
}

const idOf = (world: HealthWorld): string => {
  const listed: { branches: { id: string; name: string }[] } = world.console("GET", branches);
  return listed.branches.find(({ name }) => name === "pr")?.id ?? "";
};

const life: Play = async () => {
  const world = new HealthWorld();
  create(world);
  await world.row("Branch", { reason: "", current: false, remark: "created, not seen by the operator yet" });
  await world.row("Branch", { reason: "Creating" });
  await world.row("Branch", { reason: "Available" });
  world.change("Branch", "pr", { expiry: { after: "72h" } });
  await world.row("Branch", { reason: "Available", current: false, remark: "edited, not seen by the operator yet" });
  await world.clock.advance(5000);
  world.annotate("pr", "resetAt", "today", "Branch");
  await world.row("Branch", { reason: "Resetting" });
  await world.clock.advance(60_000);
  world.delete("Branch", "pr");
  await world.row("Branch", { reason: "Deleting", deleting: true, remark: "deletion in progress" });
  return world;
};

const observed: Play = async () => {
  const world = new HealthWorld();
  world.console("POST", branches, { branch: { name: "theirs" } });
  const adopt = { branchName: "theirs", adopt: { byName: true }, expiry: { never: true } };
  create(world, { ...adopt, managementPolicy: "Observe" });
  await world.row("Branch", { reason: "Observed" });
  return world;
};

const paused: Play = async () => {
  const world = await standing();
  world.annotate("pr", "paused", "true", "Branch");
  await world.row("Branch", { reason: "Paused", ready: "True", paused: true, remark: "while ready" });
  return world;
};

const expired: Play = async () => {
  const world = await standing({ expiry: { after: "2m" } });
  await world.row("Branch", { reason: "Expired" });
  world.annotate("pr", "paused", "true", "Branch");
  await world.row("Branch", { reason: "Paused", paused: true, remark: "after its end" });
  return world;
};

/** A Branch that is never made, because of what `prepare` did before. */
const refused =
  (reason: string, prepare: (world: HealthWorld) => void, spec: Record<string, unknown> = {}): Play =>
  async () => {
    const world = new HealthWorld();
    prepare(world);
    create(world, spec);
    await world.row("Branch", { reason, name: "pr" });
    return world;
  };

/** A Branch that was available before `change` did something. */
const hindered =
  (reason: string, change: (world: HealthWorld) => void, spec: Record<string, unknown> = {}): Play =>
  async () => {
    const world = await standing(spec);
    change(world);
    await world.row("Branch", { reason, name: "pr" });
    return world;
  };

/** A deletion that waits. */
const held =
  (reason: string, prepare: (world: HealthWorld) => void, spec: Record<string, unknown> = {}): Play =>
  async () => {
    const world = await standing(spec);
    prepare(world);
    world.delete("Branch", "pr");
    await world.row("Branch", { reason, deleting: true, remark: "deletion waits" });
    return world;
  };

const fault = (kind: "423" | "429" | "503" | "drop-after", count?: number) => (world: HealthWorld) =>
  world.host.service.setFaults([{ kind, method: "POST", route: "*", ...(count !== undefined && { count }) }]);

const nothing = () => undefined;

/** The service shows a branch that it prepares in another way than by creating it. */
function preparing(world: HealthWorld): void {
  world.host.instead = ({ method, path, authorization }) => {
    if (method !== "GET" || path !== branches) return undefined;
    const reply = world.host.service.call({ method, path: `/api/v2${path}`, headers: { authorization } });
    return { ...reply, body: (reply.body ?? "").replaceAll('"current_state":"ready"', '"current_state":"importing"') };
  };
}

/** A reset is asked for, whose work at the service fails. */
function failing(world: HealthWorld): void {
  world.host.instead = ({ method, path, body, authorization }) => {
    if (method !== "POST" || !path.endsWith("/restore")) return undefined;
    const call = { method, path: `/api/v2${path}`, body: JSON.stringify(body), headers: { authorization } };
    const reply = world.host.service.call(call);
    const failed = { id: "op-failed", action: "create_branch", status: "failed", failures_count: 1 };
    return { ...reply, body: JSON.stringify({ ...JSON.parse(reply.body ?? "{}"), operations: [failed] }) };
  };
  world.annotate("pr", "resetAt", "today", "Branch");
}

const elsewhere = { connectionRef: { kind: "ServiceConnection", name: "missing" } };

export const branchPlays: readonly Play[] = [
  life,
  observed,
  paused,
  expired,
  hindered("Updating", preparing),
  hindered("OperationFailed", failing),
  hindered("Drifted", (world) => {
    world.console("PATCH", `${branches}/${idOf(world)}`, { branch: { name: "renamed" } });
  }),
  hindered("BranchLost", (world) => {
    world.console("DELETE", `${branches}/${idOf(world)}`);
  }),
  hindered("ServiceUnavailable", (world) => {
    world.host.instead = () => refusal(503, "not now");
  }),
  hindered("Unauthorized", (world) => {
    world.host.instead = () => refusal(401, "the key was revoked");
  }),
  hindered("ProjectNotFound", (world) => {
    world.console("PUT", "/_admin/projects/shop/owner", { owner: "acc-ana" });
  }),
  held("InUse", (world) => world.declare("shop", "db", { branchID: undefined, branchRef: { name: "pr" } })),
  held("HasChildren", (world) => {
    world.console("POST", branches, { branch: { name: "child", parent_id: idOf(world) } });
  }),
  held("Protected", nothing, { protected: true }),
  refused("CreateUnknown", fault("drop-after", 1)),
  refused("ProjectBusy", fault("423", 3)),
  refused("RateLimited", fault("429", 1)),
  refused("Forbidden", (world) => {
    world.host.instead = ({ method }) => (method === "POST" ? refusal(403, "this key may only read") : undefined);
  }),
  refused("Rejected", (world) => {
    world.host.instead = ({ method }) => (method === "POST" ? refusal(400, "this is not allowed") : undefined);
  }),
  refused("ConnectionNotFound", nothing, elsewhere),
  refused("ConnectionNotReady", nothing, { projectID: "another" }),
  refused("BranchNotFound", nothing, { parent: { branchName: "absent" } }),
  refused("BranchExists", (world) => void world.console("POST", branches, { branch: { name: "pr" } })),
  refused("AdoptionRefused", nothing, { adopt: { branchID: "br-missing" } }),
  refused("Conflict", (world) => create(world, { branchName: "pr" }, "first")),
];
