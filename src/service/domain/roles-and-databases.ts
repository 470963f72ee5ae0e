import { interrupt, steps } from "../computes/chain.ts";
import { refuseWhileBusy } from "../computes/lock.ts";
import { restartRunning } from "../computes/restart-running.ts";
import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import type { Branch } from "../store/branches.ts";
import type { BranchDatabase, Role } from "../store/catalog.ts";
import type { StoredOperation } from "../store/operations.ts";
import type { Project } from "../store/projects.ts";

/** The most roles, and the most databases, that the calls of the API make in a branch: the vendor's limit. */
export const mostInBranch = 500;

/** The branch whose roles and databases are changed. */
export interface Place {
  context: ServiceContext;
  project: Project;
  branch: Branch;
  at: number;
}

/** A changed role, and the operations that apply the change to the branch's Postgres. */
export interface RoleChange {
  role: Role;
  operations: StoredOperation[];
}
export interface DatabaseChange {
  database: BranchDatabase;
  operations: StoredOperation[];
}

export function createRole(place: Place, wanted: { name: string; login: boolean }): RoleChange {
  const { context, branch, at } = place;
  if (context.catalog.role(branch.id, wanted.name))
    throw refusals.conflict(`role ${quoted(wanted.name)} already exists`);
  refuseFull("roles", context.store.catalogs.countRoles(branch.id));
  refuseBusy(place);
  return { role: context.catalog.createRole(branch.id, wanted, at), operations: applied(place) };
}

export function deleteRole(place: Place, role: Role): RoleChange {
  const { context, branch } = place;
  const owned = context.store.catalogs.databaseOf(branch.id, role.name);
  if (owned) {
    throw refusals.unprocessable(
      `role ${quoted(role.name)} owns database ${quoted(owned.name)}: delete that before, or give it another owner`,
    );
  }
  refuseBusy(place);
  context.catalog.deleteRole(role);
  return { role, operations: applied(place) };
}

export function resetPassword(place: Place, role: Role): RoleChange {
  if (!role.login) throw refusals.unprocessable(`role ${quoted(role.name)} cannot log in, and has no password`);
  refuseBusy(place);
  return { role: place.context.catalog.resetPassword(role, place.at), operations: applied(place) };
}

/** The password of a role, if the role has one and the project stores it. */
export function revealedPassword({ context, project }: Place, role: Role): string {
  if (!project.details.store_passwords) throw refusals.passwordsNotStored();
  if (!role.login) throw refusals.notFound(`password of role ${quoted(role.name)}`);
  return context.catalog.passwordOf(role);
}

export function createDatabase(place: Place, wanted: { name: string; ownerName: string }): DatabaseChange {
  const { context, branch, at } = place;
  refuseTakenDatabase(place, wanted.name);
  refuseStranger(place, wanted.ownerName);
  refuseFull("databases", context.store.catalogs.countDatabases(branch.id));
  refuseBusy(place);
  return { database: context.catalog.createDatabase(branch.id, wanted, at), operations: applied(place) };
}

/** Renames a database or changes its owner; omitted fields keep their values. */
export function changeDatabase(
  place: Place,
  database: BranchDatabase,
  {
    name = database.name,
    ownerName = database.ownerName,
  }: { name?: string | undefined; ownerName?: string | undefined },
): DatabaseChange {
  if (name === database.name && ownerName === database.ownerName) return { database, operations: [] };
  if (name !== database.name) refuseTakenDatabase(place, name);
  // A role that SQL has made may own it already.
  if (ownerName !== database.ownerName) refuseStranger(place, ownerName);
  refuseBusy(place);
  const changed = place.context.catalog.changeDatabase(database, { name, ownerName }, place.at);
  return { database: changed, operations: applied(place) };
}

export function deleteDatabase(place: Place, database: BranchDatabase): DatabaseChange {
  refuseBusy(place);
  place.context.catalog.deleteDatabase(database);
  return { database, operations: applied(place) };
}

function refuseFull(what: "roles" | "databases", present: number): void {
  if (present >= mostInBranch) {
    throw refusals.limitExceeded(what, `a branch has at most ${mostInBranch} ${what}`);
  }
}

function refuseTakenDatabase({ context, branch }: Place, name: string): void {
  if (context.catalog.database(branch.id, name)) throw refusals.conflict(`database ${quoted(name)} already exists`);
}

function refuseStranger({ context, branch }: Place, owner: string): void {
  if (!context.catalog.role(branch.id, owner)) throw refusals.notFound(`role ${quoted(owner)}`);
}

function refuseBusy({ context, project, branch }: Place): void {
  refuseWhileBusy(context, project.id);
  if (branch.currentState !== "ready") throw refusals.notReady("branch");
}

/**
 * Applies a change in the branch's primary compute: it drops its connections, and an idle one starts for the time of
 * the change. Without a primary that may run, the replicas that run restart: a start takes the branch's data again.
 */
function applied({ context, branch, at }: Place): StoredOperation[] {
  const endpoint = context.store.endpoints.primaryOf(branch.id);
  if (!endpoint || endpoint.disabled) return restartRunning(context, { branchId: branch.id }, at);
  const { apply, suspend } = steps;
  const running = endpoint.currentState === "active";
  const pendingState = running ? "active" : "idle";
  return interrupt(context, { endpoint, at, pendingState }, running ? [apply] : [apply, suspend]);
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
