import { othersOf } from "./other-namespaces.ts";
import type { World } from "./world.ts";

// Clusters that are emptied or lost, and set up again by their people.

/** How often users check whether what they deleted is gone, in milliseconds. */
const lookForEndMs = 2000;

export function uninstall(world: World, all: boolean): void {
  world.promises.register.uninstallingSince ??= world.clock.monotonic();
  world.workload.deleteCRDs(all);
}

/** As soon as everything being deleted is gone, users create all of it again. */
export function comeBack(world: World): void {
  const { workload, promises, services, clock } = world;
  if (workload.awaited !== undefined) {
    clock.after(lookForEndMs, () => comeBack(world));
    return;
  }
  promises.register.uninstallingSince = undefined;
  world.cutWatches();
  workload.settle(world.services.key);
  workload.setBaseURL(services.baseURL);
}

/** The cluster is lost, operators included; a new one has the same manifests, and its operators start later. */
export function loseCluster(world: World, downMs: number): void {
  for (const name of world.processes) world.kill(downMs, name);
  world.promises.fleets.lost(world.workload.computes());
  world.branches.lost();
  const others = othersOf(world.server);
  world.server.wipe();
  others();
  world.workload.settle(world.services.key);
  world.workload.setBaseURL(world.services.baseURL);
}

/** Operators are started again with another `--fleet`. */
export function renameFleet(world: World, fleet: string, downMs: number): void {
  world.fleet = fleet;
  for (const name of world.processes) world.kill(downMs, name);
}
