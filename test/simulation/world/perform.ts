import type { Action } from "./actions.ts";
import { computesPath } from "./computes.ts";
import { agree, makeSecret, removeSecret } from "./other-namespaces.ts";
import { comeBack, loseCluster, renameFleet, uninstall } from "./rebuild.ts";
import type { ServiceHost } from "./service-host.ts";
import type { World } from "./world.ts";

/** Does what an action says, now. */
export function perform(world: World, action: Action): void {
  const { workload, host, clock, weather } = world;
  const nthEndpoint = (nth: number) => {
    const endpoints = host.allEndpoints();
    return endpoints[nth % Math.max(1, endpoints.length)];
  };
  switch (action.do) {
    case "apply":
      return workload.apply(action.name, action.spec);
    case "replace":
      return workload.replace(action.name);
    case "delete":
      return workload.delete(action.name);
    case "apply branch":
      return workload.applyBranch(action.name, action.spec);
    case "delete branch":
      return workload.deleteBranch(action.name);
    case "annotate branch":
      return workload.annotateBranch(action.name, action.key, action.value);
    case "scale pool":
      return workload.scalePool(action.name, action.replicas, action.template);
    case "resize pool":
      return changePool(world, action.name, "/spec/template/computeUnits", action.computeUnits);
    case "restart pool":
      return changePool(world, action.name, "/metadata/annotations", {
        "compute-operator.dev/restartedAt": action.value,
      });
    case "delete pool":
      return workload.deletePool(action.name);
    case "edit replica":
      return workload.editReplica(action.name);
    case "label":
      return workload.label(action.name, action.shard);
    case "drop finalizers":
      return workload.dropFinalizers(action.name);
    case "annotate":
      return workload.annotate(action.name, action.key, action.value);
    case "wipe status":
      return workload.wipeStatus(action.name);
    case "copy":
      return workload.copy(action.from, action.to);
    case "rotate key": {
      const name = world.giveNewKey();
      clock.after(weather.lasting(action.revokeAfterMs), () => host.revokeKeysBefore(name));
      return;
    }
    case "revoke key":
      host.revokeKeysBefore(undefined);
      clock.after(weather.lasting(action.mendAfterMs), () => world.giveNewKey());
      return;
    case "give a stranger's key":
      world.giveStrangersKey();
      clock.after(weather.lasting(action.mendAfterMs), () => world.giveNewKey());
      return;
    case "edit base URL":
      world.pointElsewhere();
      clock.after(weather.lasting(action.backAfterMs), () => world.pointBack());
      return;
    case "unselect namespace":
      select(world, false);
      clock.after(weather.lasting(action.backAfterMs), () => select(world, true));
      return;
    case "delete namespace":
      workload.deleteNamespace();
      return comeBack(world);
    case "delete CRDs":
      uninstall(world, action.all);
      return comeBack(world);
    case "lose cluster":
      return loseCluster(world, weather.lasting(action.downMs));
    case "rename fleet":
      return renameFleet(world, action.fleet, weather.lasting(action.downMs));
    case "change endpoint":
    case "delete endpoint": {
      const endpoint = nthEndpoint(action.nth);
      if (endpoint === undefined) return;
      const path = `/projects/${endpoint.projectId}/endpoints/${endpoint.id}`;
      world.promises.disabled.changedByPerson(endpoint.id);
      if (action.do === "delete endpoint") host.byPeople("DELETE", path);
      else host.byPeople("PATCH", path, { endpoint: action.body });
      return;
    }
    case "create endpoint":
      host.byPeople("POST", `/projects/${action.project}/endpoints`, {
        endpoint: { branch_id: action.branch, type: action.type },
      });
      return;
    case "name branch":
      return nameBranch(host, action);
    case "make branch again":
      return makeBranchAgain(host, action);
    case "end branch":
    case "change branch":
    case "remove branch":
    case "branch off":
      return changeMade(world, action);
    case "connect": {
      const endpoint = nthEndpoint(action.nth);
      if (endpoint !== undefined) host.connect(endpoint.id);
      return;
    }
    case "agree":
      return agree(world.server, action.namespace, action.agrees);
    case "make secret":
      return makeSecret(world.server, action.namespace, action.name);
    case "remove secret":
      return removeSecret(world.server, action.namespace, action.name);
    case "kill":
      return world.kill(weather.lasting(action.downMs));
    case "pause":
      return world.pause(weather.lasting(action.ms), action.slept);
    case "cut watches":
      return world.cutWatches();
    case "forget history":
      world.server.store.compact();
      return world.cutWatches();
    case "service down":
      weather.serviceDown += 1;
      clock.after(weather.lasting(action.ms), () => {
        weather.serviceDown -= 1;
      });
      return;
    case "hide endpoints":
      weather.endpointsHidden += 1;
      clock.after(weather.lasting(action.ms), () => {
        weather.endpointsHidden -= 1;
      });
      return;
    case "cluster down":
      weather.clusterDown += 1;
      world.cutWatches();
      clock.after(weather.lasting(action.ms), () => {
        weather.clusterDown -= 1;
      });
      return;
    case "step clock":
      return clock.stepWall(action.ms);
  }
}

function nameBranch(host: ServiceHost, { project, branch, name }: { project: string; branch: string; name: string }) {
  const rename = (id: string, to: string) =>
    host.byPeople("PATCH", `/projects/${project}/branches/${id}`, { branch: { name: to } });
  const [holder] = host.branchesNamed(project, name);
  if (holder === branch) return;
  if (holder !== undefined) rename(holder, `was-${name}-${Math.round(host.now)}`);
  rename(branch, name);
}

/** Where something else is in progress in the project, the branch stays. */
function makeBranchAgain(host: ServiceHost, { project, name }: { project: string; name: string }): void {
  const [id] = host.branchesNamed(project, name);
  if (id === undefined || host.byPeople("DELETE", `/projects/${project}/branches/${id}`).status >= 300) return;
  host.byPeople("POST", `/projects/${project}/branches`, { branch: { name } });
}

/** People change a branch that the seed of the service did not make. */
function changeMade(
  { host, branches }: World,
  action: Extract<Action, { nth: number; do: `${string}branch${string}` }>,
): void {
  const made = host.madeBranches();
  const branch = made[action.nth % Math.max(1, made.length)];
  if (branch === undefined) return;
  const path = `/projects/${branch.projectId}/branches/${branch.id}`;
  switch (action.do) {
    case "end branch": {
      const at = action.inMs === null ? null : new Date(Math.floor((host.wall + action.inMs) / 1000) * 1000);
      const { status } = host.byPeople("PATCH", path, { branch: { expires_at: at?.toISOString() ?? null } });
      if (status < 300) branches.ended(branch.id, at?.getTime());
      return;
    }
    case "change branch":
      host.byPeople("PATCH", path, { branch: action.body });
      return;
    case "remove branch":
      host.byPeople("DELETE", path);
      return;
    case "branch off":
      host.byPeople("POST", `/projects/${branch.projectId}/branches`, {
        branch: { name: action.name, parent_id: branch.id },
      });
  }
}

/** Whether the ClusterServiceConnection, where there is one, selects the namespace of the Computes. */
function select({ promises, workload }: World, isSelected: boolean): void {
  promises.access.selected(isSelected);
  workload.select(isSelected);
}

function changePool({ server }: World, name: string, path: string, value: unknown): void {
  const pool = `${computesPath.replace(/computes$/, "computepools")}/${name}`;
  const contentType = "application/json-patch+json";
  server.handle({ method: "PATCH", path: pool, body: [{ op: "add", path, value }], contentType });
}
