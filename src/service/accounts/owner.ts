import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import type { Owner } from "../store/projects.ts";
import type { Store } from "../store/store.ts";

/** The owner's plan, which decides about a project's computes. */
export function planOf(store: Store, owner: Owner): string {
  const holder = owner.kind === "account" ? store.accounts.get(owner.id) : store.accounts.organization(owner.id);
  return holder?.plan ?? "free";
}

export function isSameOwner(one: Owner | undefined, other: Owner): boolean {
  return one?.kind === other.kind && one.id === other.id;
}

/** The owner of a compute's project: one with many computes holds no more of what is shared than one with a single. */
export function ownerOf(store: Store, endpointId: string): string {
  return presentOwnerOf(store, endpointId) ?? endpointId;
}

/** `undefined` for a compute that is gone. */
export function presentOwnerOf(store: Store, endpointId: string): string | undefined {
  const projectId = store.endpoints.byId(endpointId)?.projectId;
  return projectId === undefined ? undefined : ownerOfProject(store, projectId);
}

export function ownerOfProject({ projects }: Store, projectId: string): string {
  return projects.get(projectId)?.owner.id ?? projectId;
}

/** The account or organization with this id. */
export function ownerNamed({ accounts }: Store, id: string): Owner {
  if (accounts.organization(id)) return { kind: "organization", id };
  if (accounts.get(id)) return { kind: "account", id };
  throw refusals.notFound(`account or organization ${id}`);
}

/** Moves projects to another account or organization, which exists. Keys scoped to them are revoked with the move. */
export function moveProjects(context: ServiceContext, ids: readonly string[], owner: Owner, at: number): void {
  context.store.keys.revokeScopedTo(ids, at);
  context.store.projects.setOwner(ids, owner, at);
}
